package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// seeds are lines of all formats, good and bad.
var seeds = []string{
	"", "-", "\x00", "\xff", "word", "a b c",
	combinedLine(1), combinedLine(2)[:40],
	`h - - [10/Oct/2000:13:55:36 -0700] "" 400 - "" ""`,
	`fe80::1%eth0 - john doe [10/Oct/2000:13:55:36 +0545] "\x16\x03" 400 0 "-" "a \"b\" \x22"`,
	`h - - [10/Oct/2000:13:55:36] "GET /" 200`,
	`{"ip":"192.0.2.1","n":[1,{"a":"}"}]}`, `{"ip":"\u0041\ud83d\ude00"}`, "{\"ip\":\"\xe9\"}", `{"a":`,
	`ip=192.0.2.1 msg="a \"b\" \u00e9" bare x= x=2`, `a="\xff"`, "a=\xe9 b", `a="b`,
}

// Whatever a line is, what becomes of it is JSON, and it is either malformed,
// with its bytes, or has fields.
func FuzzLine(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, uint8(0))
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, format uint8) {
		p := newParser(config{format: formats[int(format)%len(formats)], key: keyClient, zone: time.UTC})
		records := []record{{line: line{number: 7, text: []byte(text)}}}
		p.parseAll(context.Background(), records)
		enrichAll(context.Background(), fakeStore{}, records)
		got := string(records[0].json)
		if !json.Valid([]byte(got)) || !utf8.ValidString(got) || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "}\n") {
			t.Fatalf("not a line of JSON: %q", got)
		}
		var row row
		if err := json.Unmarshal([]byte(got), &row); err != nil || row.Line != 7 {
			t.Fatalf("line %d, %v: %s", row.Line, err, got)
		}
		if records[0].err != nil && row.Raw+string(row.Raw64) != text {
			t.Errorf("%q is kept as %s", text, got)
		}
	})
}

// What Apache's escaping hides is found again.
func FuzzUnescape(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		for _, c := range []byte(text) {
			switch {
			case c == '"' || c == '\\':
				b.WriteByte('\\')
				b.WriteByte(c)
			case c < ' ' || c > '~':
				b.WriteString(`\x` + string([]byte{hexDigits[c>>4], hexDigits[c&15]}))
			default:
				b.WriteByte(c)
			}
		}
		if got := unescape(b.String()); got != text {
			t.Errorf("%q escaped as %q gives %q", text, b.String(), got)
		}
	})
}

// JSON strings decode as encoding/json does it, where that loses nothing.
func FuzzUnquote(f *testing.F) {
	for _, s := range seeds {
		f.Add(`"` + s + `"`)
	}
	f.Fuzz(func(t *testing.T, quoted string) {
		var want string
		if !utf8.ValidString(quoted) || json.Unmarshal([]byte(quoted), &want) != nil || strings.Contains(want, "\ufffd") {
			return
		}
		quoted = strings.Trim(quoted, " \t\r\n")
		if got, rest, err := unquote(quoted[1:]); got != want || rest != "" || err != nil {
			t.Errorf("%s: %q, rest %q, %v; want %q", quoted, got, rest, err, want)
		}
	})
}

// Cutting text into lines loses no byte, whatever the buffer.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\nb", "a\r\n\x00\x00b\n\n", "\x00", strings.Repeat("x", 40) + "\ny\r"} {
		f.Add(s, uint8(0), uint8(30))
	}
	f.Fuzz(func(t *testing.T, text string, buffer, max uint8) {
		limit := int(max) + 1
		lines, err := allLines(newLineReader(strings.NewReader(text), 16+int(buffer), limit))
		again, err2 := allLines(newLineReader(strings.NewReader(text), readBuffer, limit))
		if errors.Join(err, err2) != nil || len(lines) != len(again) {
			t.Fatalf("%d and %d lines, %v, %v", len(lines), len(again), err, err2)
		}
		var kept strings.Builder
		for i, l := range lines {
			if string(l.text) != string(again[i].text) || l.number != i+1 {
				t.Fatalf("line %d: %q and %q", l.number, l.text, again[i].text)
			}
			if len(l.text) > limit && !strings.Contains(l.err.Error(), "NUL") {
				t.Errorf("%d bytes, the limit is %d", len(l.text), limit)
			}
			if l.err != nil {
				return // it is not all there
			}
			kept.Write(l.text)
			kept.WriteByte('\n')
		}
		want := strings.ReplaceAll(strings.TrimSuffix(text, "\n")+"\n", "\r\n", "\n")
		if text == "" {
			want = ""
		} else if strings.HasSuffix(text, "\r") && len(lines) > 0 {
			want = strings.TrimSuffix(want, "\n") + "\r\n"
		}
		if kept.String() != want {
			t.Errorf("%q is cut into %q, want %q", text, kept.String(), want)
		}
	})
}
