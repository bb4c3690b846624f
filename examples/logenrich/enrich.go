package main

import (
	"context"
	"slices"
	"strings"
)

// An outcome says what became of a line.
type outcome uint8

const (
	malformed outcome = iota // it could not be read
	unknown                  // it names no client, or one that the store does not know
	enriched
	outcomes // how many there are
)

// parseAll reads the fields of each record.
func (p parser) parseAll(_ context.Context, records []record) ([]record, error) {
	for i := range records {
		r := &records[i]
		if r.members, r.key, r.err = p.parse(r.line); r.err == nil {
			r.outcome = unknown
		}
	}
	return records, nil
}

// enrichAll looks the keys of the records up, each once, and makes the lines of
// output.
func enrichAll(ctx context.Context, st store, records []record) ([]record, error) {
	var found map[string][]byte
	if keys := distinctKeys(records); len(keys) > 0 {
		var err error
		if found, err = st.find(ctx, keys); err != nil {
			return nil, err
		}
	}
	for i := range records {
		records[i].finish(found)
	}
	return records, nil
}

func distinctKeys(records []record) []string {
	keys := make([]string, 0, len(records))
	for i := range records {
		if r := &records[i]; r.outcome == unknown && r.key.present {
			keys = append(keys, r.key.text)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// finish makes the record's line of output, given the clients that were found.
func (r *record) finish(found map[string][]byte) {
	out := appendInt(append(make([]byte, 0, len(r.members)+256), '{'), "line", int64(r.number))
	if r.outcome == malformed {
		out = appendText(out, "raw", r.text)
		out = appendString(appendName(out, "error"), strings.ToValidUTF8(r.err.Error(), "?"))
	} else {
		out = append(append(out, ','), r.members...)
		out = appendName(out, "client")
		if client := found[r.key.text]; r.key.present && client != nil {
			r.outcome = enriched
			out = append(out, client...)
		} else {
			out = append(out, "null"...)
		}
	}
	r.json = append(out, '}', '\n')
}
