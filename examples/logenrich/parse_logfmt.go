package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A pair is one key of a logfmt line with its values, in the order of the line.
// A key without = has an absent value.
type pair struct {
	key    string
	values []field
}

// parseLogfmt reads pairs with spaces between them:
//
//	pair  = key [ "=" value ]
//	key   = bytes above space other than = and "
//	value = bytes above space other than ", or any text in quotes, with escapes
//
// They become the member "fields", an object of strings. A key without = is
// null, one that comes several times has an array of its values. If any of it is
// not UTF-8, the whole line becomes "fields_base64". Of several values of the
// key's field the last counts.
func parseLogfmt(s string, names []string) (members []byte, key field, err error) {
	pairs, err := logfmtPairs(s)
	if err != nil {
		return nil, field{}, err
	}
	values := make(map[string]field, len(names))
	for _, p := range pairs {
		values[p.key] = p.values[len(p.values)-1]
	}
	key = first(names, values)
	if members = appendPairs(nil, pairs); !utf8.Valid(members) {
		members = appendBase64(nil, "fields", s)
	}
	return members, key, nil
}

func logfmtPairs(s string) ([]pair, error) {
	var pairs []pair
	index := map[string]int{}
	for s = strings.TrimLeft(s, blank); s != ""; s = strings.TrimLeft(s, blank) {
		key, value, rest, err := logfmtPair(s)
		if err != nil {
			return nil, err
		}
		s = rest
		at, ok := index[key]
		if !ok {
			at = len(pairs)
			index[key] = at
			pairs = append(pairs, pair{key: key})
		}
		pairs[at].values = append(pairs[at].values, value)
	}
	if len(pairs) == 0 {
		return nil, errors.New("empty line")
	}
	return pairs, nil
}

// blank is what separates pairs. Another control character, such as a NUL from
// a damaged disk, is no separator: what stands around it is not two pairs.
const blank = " \t"

func atBlank(s string) bool { return s == "" || s[0] == ' ' || s[0] == '\t' }

// logfmtPair reads the pair at the front of s.
func logfmtPair(s string) (key string, value field, rest string, err error) {
	n := 0
	for n < len(s) && s[n] > ' ' && s[n] != '=' && s[n] != '"' {
		n++
	}
	key, rest = s[:n], s[n:]
	switch {
	case key == "":
		return "", field{}, "", errors.New("logfmt: no key at " + show(s))
	case atBlank(rest):
		return key, field{}, rest, nil
	case rest[0] != '=':
		return "", field{}, "", errors.New("logfmt: bad key at " + show(s))
	}
	rest = rest[1:]
	if strings.HasPrefix(rest, `"`) {
		text, rest, err := unquote(rest[1:])
		if err == nil && !atBlank(rest) {
			err = errors.New("no space after the closing quote")
		}
		if err != nil {
			return "", field{}, "", fmt.Errorf("logfmt: %w in the value of %s", err, show(key))
		}
		return key, some(text), rest, nil
	}
	n = 0
	for n < len(rest) && rest[n] > ' ' && rest[n] != '"' {
		n++
	}
	if !atBlank(rest[n:]) {
		return "", field{}, "", errors.New("logfmt: quote or control character in the value of " + show(key))
	}
	return key, some(rest[:n]), rest[n:], nil
}

func appendPairs(dst []byte, pairs []pair) []byte {
	dst = append(appendName(dst, "fields"), '{')
	for _, p := range pairs {
		dst = appendName(dst, p.key)
		if len(p.values) > 1 {
			dst = append(dst, '[')
		}
		for i, v := range p.values {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.present {
				dst = appendString(dst, v.text)
			} else {
				dst = append(dst, "null"...)
			}
		}
		if len(p.values) > 1 {
			dst = append(dst, ']')
		}
	}
	return append(dst, '}')
}
