package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// parseJSON reads an object and gives it back as it is, as the member "fields".
// Nothing in it is decoded but the key, so numbers keep their digits and members
// their order. The key is a string or a number in the object itself, not in one
// within it; of several members of one name the last counts, as for
// encoding/json.
func parseJSON(text []byte, names []string) (members []byte, key field, err error) {
	text = bytes.Trim(text, " \t\r\n")
	if len(text) == 0 {
		return nil, field{}, errors.New("empty line")
	}
	if text[0] != '{' || !json.Valid(text) {
		return nil, field{}, jsonError(text)
	}
	values := make(map[string]field, len(names))
	eachMember(text, func(name, value []byte) {
		if n := jsonText(name); slices.Contains(names, n) {
			switch c := value[0]; {
			case c == '"':
				values[n] = some(jsonText(value))
			case c == '-' || '0' <= c && c <= '9':
				values[n] = some(string(value))
			default:
				delete(values, n)
			}
		}
	})
	if !utf8.Valid(text) {
		return appendBase64(nil, "fields", text), first(names, values), nil
	}
	return append(appendName(nil, "fields"), text...), first(names, values), nil
}

// jsonError says what is wrong with text.
func jsonError(text []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return errors.New("json: " + syntax.Error())
		}
	}
	return errors.New("json: not an object")
}

// jsonText decodes a valid JSON string. Half a surrogate pair stands for no text:
// a string with one is left as it is written.
func jsonText(quoted []byte) string {
	text, _, err := unquote(string(quoted[1:]))
	if err != nil {
		return string(quoted[1 : len(quoted)-1])
	}
	return text
}

// eachMember calls f for each member of a valid JSON object, with the name in
// its quotes and the value as written.
func eachMember(object []byte, f func(name, value []byte)) {
	rest := object[1:]
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n,")
		if rest[0] == '}' {
			return
		}
		n := valueLen(rest)
		name := rest[:n]
		rest = bytes.TrimLeft(rest[n:], " \t\r\n:")
		n = valueLen(rest)
		f(name, rest[:n])
		rest = rest[n:]
	}
}

// valueLen returns the length of the JSON value at the front of s, which is
// followed by what ends it.
func valueLen(s []byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}
