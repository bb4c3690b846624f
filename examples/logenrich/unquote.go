package main

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unquote reads text in double quotes, from after the first one, and returns what
// follows the last one. The escapes are those of JSON and of Go. Bytes that are
// not UTF-8 stay as they are.
func unquote(s string) (text, rest string, err error) {
	var out []byte
	for s != "" {
		end := strings.IndexAny(s, `"\`)
		if end < 0 {
			break
		}
		if s[end] == '"' {
			if out == nil {
				return s[:end], s[end+1:], nil
			}
			return string(append(out, s[:end]...)), s[end+1:], nil
		}
		out = append(out, s[:end]...)
		if out, s, err = appendUnescaped(out, s[end:]); err != nil {
			return "", "", err
		}
	}
	return "", "", errors.New("no closing quote")
}

// appendUnescaped appends what the escape at the front of s stands for. JSON writes
// a character beyond 16 bits as two escapes.
func appendUnescaped(out []byte, s string) (text []byte, rest string, err error) {
	if strings.HasPrefix(s, `\/`) || strings.HasPrefix(s, `\'`) {
		return append(out, s[1]), s[2:], nil
	}
	if high, ok := hex4(s); ok && 0xd800 <= high && high < 0xe000 {
		low, ok := hex4(s[6:])
		if high >= 0xdc00 || !ok || low < 0xdc00 || low >= 0xe000 {
			return nil, "", errors.New("half a surrogate pair")
		}
		return utf8.AppendRune(out, (high-0xd800)<<10+(low-0xdc00)+0x10000), s[12:], nil
	}
	r, multibyte, rest, err := strconv.UnquoteChar(s, '"')
	if err != nil {
		return nil, "", errors.New("bad escape")
	}
	if r < utf8.RuneSelf || !multibyte {
		return append(out, byte(r)), rest, nil
	}
	return utf8.AppendRune(out, r), rest, nil
}

// hex4 reads \uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}
