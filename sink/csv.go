package sink

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/seed95b73fdc/sluice/stage"
)

// CSV runs in and writes each value, the fields of a record, as encoding/csv does
// (RFC 4180, lines end with "\n"), to w. It is Lines but for that: see there for
// what is written when, and what is lost when. A record without fields cannot be
// told from none, and is an error that names its number, from 0 and without the Header.
func CSV(ctx context.Context, in stage.Stream[[]string], w io.Writer, opts ...TextOption) error {
	return end(ctx, csvRecords("sink.CSV", in, w, opts))
}

// CSVTo is CSV as an end of a run that has several; see [stage.Run].
func CSVTo(in stage.Stream[[]string], w io.Writer, opts ...TextOption) stage.Sink {
	return sinkOf(csvRecords("sink.CSVTo", in, w, opts), "csv")
}

// Comma is what CSV separates fields with, ',' if not given. A quote, a line end
// and what is no character panic.
func Comma(r rune) TextOption {
	if r == 0 || r == '"' || r == '\r' || r == '\n' || r == utf8.RuneError || !utf8.ValidRune(r) {
		panic(fmt.Sprintf("sink.Comma: r is %q, which cannot separate fields", r))
	}
	return func(c *textConfig) { c.comma = r }
}

// Header is the record that CSV writes before all others, also if there are none.
func Header(fields ...string) TextOption {
	stage.CheckSize("sink.Header", "number of fields", len(fields), 1)
	fields = append([]string(nil), fields...)
	return func(c *textConfig) { c.header = fields }
}

func csvRecords(fn string, in stage.Stream[[]string], w io.Writer, opts []TextOption) stage.Stream[struct{}] {
	c := configureText(fn, w, opts)
	if c.header != nil {
		in = stage.Concat(stage.Of(c.header), in)
	}
	return drain(in, func(s *stage.Scope) target[[]string] {
		var to appender
		enc := csv.NewWriter(&to)
		enc.Comma = c.comma
		number := 0 // of the record, not counting the header
		if c.header != nil {
			number--
		}
		return newText(s, w, c, func(buf []byte, fields []string) ([]byte, error) {
			number++
			switch {
			case len(fields) == 0:
				return buf, fmt.Errorf("%s: record %d has no fields", fn, number-1)
			case len(fields) == 1 && fields[0] == "":
				return append(buf, "\"\"\n"...), nil // else it would be a blank line, which readers skip
			}
			to.buf = buf
			enc.Write(fields) // its only errors are those of Comma and of the appender
			enc.Flush()
			buf, to.buf = to.buf, nil // it may be one that is not to be kept
			return buf, nil
		})
	})
}
