package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// naive is what the program has to agree with: it reads each file whole, one
// after the other, line by line.
type naive struct {
	text       string
	expr, fold bool
	show       int
}

// lineIndex is where the match is in a line, or -1.
func (n naive) lineIndex(line []byte, re *regexp.Regexp) int {
	if re == nil {
		return bytes.Index(line, []byte(n.text))
	}
	if loc := re.FindIndex(line); loc != nil {
		return loc[0]
	}
	return -1
}

func (n naive) compile() *regexp.Regexp {
	text := n.text
	switch {
	case !n.expr && !n.fold:
		return nil
	case !n.expr:
		text = regexp.QuoteMeta(text)
	}
	if n.fold {
		text = "(?i:" + text + ")"
	}
	return regexp.MustCompile(text)
}

// search returns the lines of data that match, at most count.
func (n naive) search(data []byte, count int) (all []match) {
	re := n.compile()
	offset := 0
	for number, line := range bytes.SplitAfter(data, []byte("\n")) {
		begin := offset
		offset += len(line)
		if len(line) == 0 {
			break // there is no line after the last newline
		}
		ended := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\n"))
		bare := line
		if ended {
			bare = bytes.TrimSuffix(line, []byte("\r"))
		}
		in := bare
		if !n.expr {
			in = line
		}
		at := n.lineIndex(in, re)
		if at < 0 {
			continue
		}
		m := match{line: int64(number + 1), column: int64(at + 1), text: bare}
		from, to := 0, len(bare)
		if len(bare) > n.show {
			from = max(0, at-n.show/shownBefore)
			to = min(from+n.show, len(bare))
		}
		if bytes.IndexByte(data[:min(binaryHead, begin+to)], 0) >= 0 {
			m.binary, m.text = true, nil
			return append(all, m)
		}
		if len(bare) > n.show {
			part := string(bare[from:to])
			if from > 0 {
				for i := 0; i < 3 && part != "" && !utf8.RuneStart(part[0]); i++ {
					part = part[1:]
				}
				part = ellipsis + part
			}
			if to < len(bare) {
				part = withoutHalfRune(part) + ellipsis
			}
			m.text = []byte(part)
		}
		if all = append(all, m); len(all) == count {
			break
		}
	}
	return all
}

func withoutHalfRune(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// tree is what the program prints for a folder.
func (n naive) tree(root string, count int) string {
	var b strings.Builder
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			panic(err)
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		if count -= n.print(&b, path, data, count); count == 0 {
			return fs.SkipAll
		}
		return nil
	})
	return b.String()
}

// books is what the program prints for files in their order.
func (n naive) books(all []book, count int) string {
	var b strings.Builder
	for _, file := range all {
		if !n.expr && !n.fold && !bytes.Contains(file.data, []byte(n.text)) {
			continue // no line has it either
		}
		if count -= n.print(&b, file.path, file.data, count); count == 0 {
			break
		}
	}
	return b.String()
}

// print writes what the program prints for a file, and returns how many lines match.
func (n naive) print(b *strings.Builder, path string, data []byte, count int) int {
	all := n.search(data, count)
	for _, m := range all {
		fmt.Fprintf(b, "%s:%d:%d:", path, m.line, m.column)
		if m.binary {
			b.WriteString(binaryText)
		}
		b.Write(m.text)
		b.WriteByte('\n')
	}
	return len(all)
}
