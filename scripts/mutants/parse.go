package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mutant is a fault and the tests that have to notice it.
type mutant struct {
	why, file string
	old, new  string
	test      string // arguments of go test
	tries     int
}

func (m mutant) name() string { return m.file + ": " + m.why }

// load reads all lists of a folder, in the order of their names.
func load(folder string) ([]mutant, error) {
	lists, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		some, err := parse(list, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no faults are listed in %s", folder)
	}
	return all, nil
}

// parse reads the blocks of one list.
func parse(list, text string) ([]mutant, error) {
	var all []mutant
	first := 0 // line of the block
	var block []string
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		m, err := parseBlock(block)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", list, first, err)
		}
		all = append(all, m)
		block = nil
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		}
		if len(block) == 0 {
			first = i + 1
		}
		block = append(block, line)
	}
	return all, flush()
}

func parseBlock(lines []string) (mutant, error) {
	m := mutant{tries: 1}
	var olds, news []string
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#":
			if m.why == "" {
				m.why = rest
			}
		case "file":
			m.file = strings.TrimSpace(rest)
		case "-":
			olds = append(olds, rest)
		case "+":
			news = append(news, rest)
		case "test":
			m.test = strings.TrimSpace(rest)
		case "tries":
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil || n < 1 {
				return m, fmt.Errorf("tries %q is not a positive number", rest)
			}
			m.tries = n
		default:
			return m, fmt.Errorf("a line begins with %q, want #, file, -, +, test or tries", word)
		}
	}
	m.old, m.new = strings.Join(olds, "\n"), strings.Join(news, "\n")
	for part, value := range map[string]string{"a line #": m.why, "a line file": m.file, "lines -": m.old, "a line test": m.test} {
		if value == "" {
			return m, fmt.Errorf("the block lacks %s", part)
		}
	}
	if m.old == m.new {
		return m, fmt.Errorf("lines - and + are alike")
	}
	return m, nil
}

// apply returns text with the fault in it.
func (m mutant) apply(text string) (string, error) {
	switch n := strings.Count(text, m.old); n {
	case 1:
	case 0:
		return "", fmt.Errorf("the text to be replaced is not in %s any more", m.file)
	default:
		return "", fmt.Errorf("the text to be replaced is in %s %d times, want once", m.file, n)
	}
	if m.new == "" && strings.Contains(text, m.old+"\n") {
		return strings.Replace(text, m.old+"\n", "", 1), nil
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}
