package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// An entry is a line in the common or combined format. Escapes are undone.
type entry struct {
	host           string
	ident, user    field
	at             time.Time
	request        field
	status, size   int64 // absent if the line has -
	referer, agent field
	combined       bool // whether the line goes on to the agent
}

const (
	absent    = -1  // stands for a number that the line has as -
	maxStatus = 999 // HTTP's have three digits
)

// parseCombined reads
//
//	host ident user [time] "request" status size "referer" "agent"
//
// or the same without the last two (common), or without the size as well.
// format says which may be; formatAuto allows all.
func parseCombined(s, format string, zone *time.Location) (entry, error) {
	e, rest, err := parseHead(s, zone)
	if err != nil {
		return entry{}, err
	}
	if e.request, rest, err = quoted(rest, "request"); err != nil {
		return entry{}, err
	}
	if e.status, rest, err = number(rest, "status"); err != nil {
		return entry{}, err
	}
	if e.status > maxStatus {
		return entry{}, errors.New("combined: bad status " + strconv.FormatInt(e.status, 10))
	}
	e.size = absent
	if rest != "" {
		if e.size, rest, err = number(rest, "size"); err != nil {
			return entry{}, err
		}
	}
	if rest != "" {
		e.combined = true
		if e.referer, rest, err = quoted(rest, "referer"); err != nil {
			return entry{}, err
		}
		if e.agent, rest, err = quoted(rest, "agent"); err != nil {
			return entry{}, err
		}
	}
	switch {
	case rest != "":
		return entry{}, errors.New("combined: more after the agent")
	case format == formatCombined && !e.combined:
		return entry{}, errors.New("combined: ends before the referer")
	case format == formatCommon && e.combined:
		return entry{}, errors.New("common: more after the size")
	}
	return e, nil
}

// parseHead reads as far as the time. The user may contain spaces, so it ends
// where the time begins.
func parseHead(s string, zone *time.Location) (e entry, rest string, err error) {
	host, rest, ok := strings.Cut(s, " ")
	if !ok || host == "" {
		if strings.TrimSpace(s) == "" {
			return e, "", errors.New("empty line")
		}
		return e, "", errors.New("combined: no host")
	}
	ident, rest, ok := strings.Cut(rest, " ")
	if !ok || strings.HasPrefix(ident, "[") {
		return e, "", errors.New("combined: no ident after the host")
	}
	// The time is what stands in the last brackets before the request. Neither
	// server leaves a quote in a user unescaped, so none can feign the place.
	end := strings.Index(rest, `] "`)
	if end < 0 {
		return e, "", errors.New("combined: no [time] before a request in quotes")
	}
	begin := strings.LastIndex(rest[:end], " [")
	if begin < 0 {
		return e, "", errors.New("combined: no [time] after the user")
	}
	user, stamp, rest := rest[:begin], rest[begin+len(" ["):end], rest[end+len("]"):]
	e.host, e.ident, e.user = host, dash(ident), dash(user)
	if user == `""` { // as Apache writes the empty one
		e.user = some("")
	}
	if e.at, err = parseTime(stamp, zone); err != nil {
		return e, "", err
	}
	return e, rest, nil
}

// dash makes a field of one that is written - when it is absent.
func dash(s string) field {
	if s == "-" {
		return field{}
	}
	return some(unescape(s))
}

// quoted reads a space and a quoted field from the front of s. The quote that
// ends it is the first with no backslash before it that escapes it.
func quoted(s, what string) (f field, rest string, err error) {
	if !strings.HasPrefix(s, ` "`) {
		return f, "", errors.New("combined: no quoted " + what)
	}
	s = s[2:]
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if rest = s[i+1:]; rest != "" && rest[0] != ' ' {
				return f, "", errors.New("combined: no space after the " + what)
			}
			return dash(s[:i]), rest, nil
		}
	}
	return f, "", errors.New("combined: no closing quote in the " + what)
}

// number reads a space and a number, or -, from the front of s.
func number(s, what string) (v int64, rest string, err error) {
	if s == "" || s[0] != ' ' {
		return 0, "", errors.New("combined: no " + what)
	}
	word, _, _ := strings.Cut(s[1:], " ")
	rest = s[1+len(word):]
	if word == "-" {
		return absent, rest, nil
	}
	u, err := strconv.ParseUint(word, 10, 63)
	if err != nil {
		return 0, "", errors.New("combined: bad " + what + " " + show(word))
	}
	return int64(u), rest, nil
}

// show quotes what a line has in the wrong place, the beginning of it.
func show(s string) string {
	const limit = 40
	if len(s) > limit {
		return strconv.QuoteToASCII(s[:limit]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// unescape undoes the escapes that Apache and nginx write. A backslash that
// begins none of them stands for itself.
func unescape(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i >= 0 {
		out = append(out, s[:i]...)
		c, n := unescapeByte(s[i:])
		out = append(out, c)
		s = s[i+n:]
		i = strings.IndexByte(s, '\\')
	}
	return string(append(out, s...))
}

// unescapeByte undoes the escape at the front of s and says how long it is.
func unescapeByte(s string) (c byte, n int) {
	if len(s) >= 2 {
		switch s[1] {
		case '"', '\\':
			return s[1], 2
		case 'b':
			return '\b', 2
		case 'n':
			return '\n', 2
		case 'r':
			return '\r', 2
		case 't':
			return '\t', 2
		case 'v':
			return '\v', 2
		case 'x':
			if len(s) >= 4 {
				if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
					return byte(v), 4
				}
			}
		}
	}
	return '\\', 1
}

// appendJSON appends the entry as the members of an object.
func (e entry) appendJSON(dst []byte) []byte {
	dst = appendText(dst, "host", e.host)
	dst = appendField(dst, "ident", e.ident)
	dst = appendField(dst, "user", e.user)
	dst = append(appendName(dst, "time"), '"')
	dst = append(e.at.UTC().AppendFormat(dst, time.RFC3339), '"')
	dst = appendField(dst, "request", e.request)
	dst = appendNumber(dst, "status", e.status)
	dst = appendNumber(dst, "bytes", e.size)
	if e.combined {
		dst = appendField(dst, "referer", e.referer)
		dst = appendField(dst, "agent", e.agent)
	}
	return dst
}

func appendNumber(dst []byte, name string, v int64) []byte {
	if v == absent {
		return append(appendName(dst, name), "null"...)
	}
	return appendInt(dst, name, v)
}
