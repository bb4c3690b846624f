package main

import (
	"bytes"
	"strings"
	"time"
)

// The formats of lines.
const (
	formatAuto     = "auto"
	formatCombined = "combined"
	formatCommon   = "common"
	formatJSON     = "json"
	formatLogfmt   = "logfmt"
)

var formats = []string{formatAuto, formatCombined, formatCommon, formatJSON, formatLogfmt}

// What is looked up.
const (
	keyClient = "client"
	keyUser   = "user"
)

// keyFields are the names under which JSON and logfmt lines commonly hold the
// key, the likeliest first.
var keyFields = map[string][]string{
	keyClient: {"remote_addr", "remote_ip", "client_ip", "clientip", "client", "remote_host", "host", "ip", "addr"},
	keyUser:   {"remote_user", "user", "username", "user_name", "user_id"},
}

// A parser makes the fields of a line.
type parser struct {
	format string
	key    string   // keyClient or keyUser
	names  []string // of the field with the key
	zone   *time.Location
}

func newParser(cfg config) parser {
	p := parser{format: cfg.format, key: cfg.key, names: keyFields[cfg.key], zone: cfg.zone}
	if cfg.field != "" {
		p.names = []string{cfg.field}
	}
	return p
}

// fieldNames is about how much longer an entry is as JSON than in the log.
const fieldNames = 128

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse returns the fields of a line as the members of a JSON object, without
// its braces, and the key to look up.
func (p parser) parse(l line) (members []byte, key field, err error) {
	if l.err != nil {
		return nil, field{}, l.err
	}
	text := l.text
	if l.number == 1 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	switch format := p.formatOf(text); format {
	case formatJSON:
		return parseJSON(text, p.names)
	case formatLogfmt:
		return parseLogfmt(string(text), p.names)
	default:
		entry, err := parseCombined(string(text), format, p.zone)
		if err != nil {
			return nil, field{}, err
		}
		if key = some(entry.host); p.key == keyUser {
			key = entry.user
		}
		return entry.appendJSON(make([]byte, 0, len(text)+fieldNames)), key, nil
	}
}

// formatOf tells by the look of a line what it is meant to be. It does not ask
// whether it parses: a damaged line of one format must not pass for another.
func (p parser) formatOf(text []byte) string {
	if p.format != formatAuto {
		return p.format
	}
	text = bytes.TrimLeft(text, " \t")
	if len(text) > 0 && text[0] == '{' {
		return formatJSON
	}
	word, _, _ := strings.Cut(string(text[:min(len(text), prefixLimit)]), " ")
	if equals := strings.IndexByte(word, '='); equals > 0 && !strings.Contains(word[:equals], `"`) {
		return formatLogfmt
	}
	return formatAuto // combined or common
}

// first picks the key: the value of the first of the names that has one.
func first(names []string, values map[string]field) field {
	for _, name := range names {
		if f := values[name]; f.present {
			return f
		}
	}
	return field{}
}
