package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

const at = "[10/Oct/2000:13:55:36 -0700]"

func TestC138EmptyAndAbsentFieldsParseAndDiffer(t *testing.T) {
	tests := []struct {
		name, in string
		check    func(e entry) bool
	}{
		{"empty request", `h - - ` + at + ` "" 400 0 "-" "a"`, func(e entry) bool { return e.request == some("") && e.status == 400 }},
		{"absent request", `h - - ` + at + ` "-" 408 - "-" "-"`, func(e entry) bool { return e.request == field{} && e.agent == field{} }},
		{"empty referer and agent", `h - - ` + at + ` "GET /" 200 5 "" ""`, func(e entry) bool { return e.referer == some("") && e.agent == some("") }},
		{"absent referer", `h - - ` + at + ` "GET /" 200 5 "-" "x"`, func(e entry) bool { return e.referer == field{} && e.agent == some("x") }},
		{"absent size", `h - - ` + at + ` "GET /" 304 - "-" "x"`, func(e entry) bool { return e.size == absent }},
		{"size 0", `h - - ` + at + ` "GET /" 304 0 "-" "x"`, func(e entry) bool { return e.size == 0 }},
		{"absent status", `h - - ` + at + ` "GET /" - 7 "-" "x"`, func(e entry) bool { return e.status == absent && e.size == 7 }},
		{"absent user", `h - - ` + at + ` "GET /" 200 5`, func(e entry) bool { return e.user == field{} && e.ident == field{} }},
		{"empty user", `h -  ` + at + ` "GET /" 200 5`, func(e entry) bool { return e.user == some("") }},
		{"empty user of Apache", `h - "" ` + at + ` "GET /" 200 5`, func(e entry) bool { return e.user == some("") }},
		{"unquoted last field", `h i u ` + at + ` "GET /" 200 51234`, func(e entry) bool { return e.size == 51234 && e.ident == some("i") && !e.combined }},
		{"status last", `h i u ` + at + ` "GET /" 200`, func(e entry) bool { return e.status == 200 && e.size == absent }},
		{"huge size", `h i u ` + at + ` "GET /" 200 9223372036854775807`, func(e entry) bool { return e.size == 1<<63-1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parseCombined(tt.in, formatAuto, time.UTC)
			if err != nil || !tt.check(e) {
				t.Errorf("%+v, %v", e, err)
			}
			if !json.Valid([]byte("{" + string(e.appendJSON(nil)) + "}")) {
				t.Errorf("not JSON: %s", e.appendJSON(nil))
			}
		})
	}
}

// C139: a quote within a field does not end it, and no field takes the place of
// another.
func TestC139QuotedFieldsAreUnescapedAndTheFieldsAfterThemAreRight(t *testing.T) {
	agents := []struct{ name, written, want string }{
		{"Apache's quote", `a \"b\" c`, `a "b" c`},
		{"nginx's quote", `a \x22b\x22 c`, `a "b" c`},
		{"escaped backslash last", `C:\\`, `C:\`},
		{"nginx's backslash last", `C:\x5C`, `C:\`},
		{"backslash and quote", `\\\"`, `\"`},
		{"control characters", `a\tb\nc\rd\be\vf`, "a\tb\nc\rd\be\vf"},
		{"bytes", `\x16\x03\x01\x00\xff`, "\x16\x03\x01\x00\xff"},
		{"hex in either case", `\xC3\xa9`, "é"},
		{"no escape", `C:\dir \q \xZZ \x4`, `C:\dir \q \xZZ \x4`},
		{"brackets and spaces", `[x]  y  z`, `[x]  y  z`},
		{"raw bytes", "caf\xe9 \x00 é", "caf\xe9 \x00 é"},
		{"looks absent but is longer", `--`, `--`},
	}
	for _, a := range agents {
		for _, place := range []string{"request", "referer", "agent"} {
			t.Run(a.name+" in the "+place, func(t *testing.T) {
				written := map[string]string{"request": "GET /", "referer": "ref", "agent": "ua"}
				want := map[string]string{"request": "GET /", "referer": "ref", "agent": "ua"}
				written[place], want[place] = a.written, a.want
				in := fmt.Sprintf(`h - - %s "%s" 200 5 "%s" "%s"`, at, written["request"], written["referer"], written["agent"])
				e, err := parseCombined(in, formatAuto, time.UTC)
				if err != nil {
					t.Fatal(err)
				}
				if e.request.text != want["request"] || e.referer.text != want["referer"] || e.agent.text != want["agent"] || e.status != 200 || e.size != 5 {
					t.Errorf("%+v", e)
				}
			})
		}
	}
}

func TestC139UserWithSpacesEndsAtTheTime(t *testing.T) {
	for _, user := range []string{"john doe", "a b c", "x [y", "x [1] z", "[10/Oct/2000:13:55:36 -0700] spoof", "trailing "} {
		e, err := parseCombined(`2001:db8::1 - `+user+` `+at+` "GET /" 200 5 "-" "a"`, formatAuto, time.UTC)
		if err != nil || e.user != some(user) || e.host != "2001:db8::1" || e.request != some("GET /") {
			t.Errorf("%q: %+v, %v", user, e, err)
		}
	}
	e, err := parseCombined(`h - a\"b `+at+` "GET /" 200 5`, formatAuto, time.UTC)
	if err != nil || e.user != some(`a"b`) {
		t.Errorf("escaped user: %+v, %v", e, err)
	}
}

func TestIPv6HostsWithZonesAreKeptAsWritten(t *testing.T) {
	for _, host := range []string{"fe80::1%eth0", "fe80::1%eth0.100", "FE80::1%25en0", "::1", "2001:db8::192.0.2.1", "::ffff:192.0.2.1"} {
		e, err := parseCombined(host+` - - `+at+` "GET /" 200 5`, formatAuto, time.UTC)
		if err != nil || e.host != host {
			t.Errorf("%s: %+v, %v", host, e, err)
		}
	}
}

func TestC139LinesThatDoNotFitAreMalformedNotMisassigned(t *testing.T) {
	tests := []struct{ name, in, why string }{
		{"nothing", "", "empty line"},
		{"blank", "  ", "empty line"},
		{"no host", ` - - ` + at + ` "GET /" 200 5`, "no host"},
		{"one word", "word", "no host"},
		{"host alone", "h ", "no ident"},
		{"no ident and user", `h ` + at + ` "GET /" 200 5`, "no ident"},
		{"no user", `h - ` + at + ` "GET /" 200 5`, "no [time]"},
		{"no time", `h - - "GET /" 200 5`, "no [time]"},
		{"time not closed", `h - - [10/Oct/2000:13:55:36 -0700 "GET /" 200 5`, "no [time]"},
		{"empty time", `h - - [] "GET /" 200 5`, "bad time"},
		{"no request", `h - - ` + at + ` 200 5 "-" "a"`, "no [time]"},
		{"request not closed", `h - - ` + at + ` "GET / 200 5`, "no closing quote in the request"},
		{"no space after request", `h - - ` + at + ` "GET /"200 5`, "no space after the request"},
		{"quote within request", `h - - ` + at + ` "GET /"x" 200 5`, "no space after the request"},
		{"no status", `h - - ` + at + ` "GET /"`, "no status"},
		{"status no number", `h - - ` + at + ` "GET /" OK 5`, "bad status"},
		{"status too large", `h - - ` + at + ` "GET /" 2000 5`, "bad status"},
		{"negative size", `h - - ` + at + ` "GET /" 200 -5`, "bad size"},
		{"size over 63 bits", `h - - ` + at + ` "GET /" 200 9223372036854775808`, "bad size"},
		{"two spaces", `h - - ` + at + ` "GET /" 200  5`, "bad size"},
		{"trailing space", `h - - ` + at + ` "GET /" 200 5 `, "no quoted referer"},
		{"no agent", `h - - ` + at + ` "GET /" 200 5 "-"`, "no quoted agent"},
		{"no referer", `h - - ` + at + ` "GET /" 200 5 agent`, "no quoted referer"},
		{"agent cut", `h - - ` + at + ` "GET /" 200 5 "-" "Mozi`, "no closing quote in the agent"},
		{"agent ends in a bare backslash", `h - - ` + at + ` "GET /" 200 5 "-" "C:\"`, "no closing quote in the agent"},
		{"referer ends in a bare backslash", `h - - ` + at + ` "GET /" 200 5 "C:\" "a"`, "no space after the referer"},
		{"more", `h - - ` + at + ` "GET /" 200 5 "-" "a" 17`, "more after the agent"},
		{"NUL behind", `h - - ` + at + ` "GET /" 200 5 "-" "a"` + "\x00", "no space after the agent"},
		{"two lines in one", `h - - ` + at + ` "GET /" 200 5 "-" "a"h - - ` + at + ` "GET /" 200 5 "-" "a"`, "no space after the agent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parseCombined(tt.in, formatAuto, time.UTC)
			if err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%+v, error %v, want one with %q", e, err, tt.why)
			}
			if e != (entry{}) {
				t.Errorf("an entry beside the error: %+v", e)
			}
		})
	}
}

func TestFormatFlagHoldsLinesToTheFormat(t *testing.T) {
	common := `h - - ` + at + ` "GET /" 200 5`
	combined := common + ` "-" "a"`
	for _, tt := range []struct {
		format, in string
		ok         bool
	}{
		{formatAuto, common, true}, {formatAuto, combined, true},
		{formatCommon, common, true}, {formatCommon, combined, false},
		{formatCombined, common, false}, {formatCombined, combined, true},
	} {
		if _, err := parseCombined(tt.in, tt.format, time.UTC); (err == nil) != tt.ok {
			t.Errorf("%s for %s: %v", tt.format, tt.in, err)
		}
	}
}

func TestAutoFormatGoesByTheLookOfTheLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"ip":"192.0.2.1"}`, formatJSON},
		{`  {"broken`, formatJSON},
		{`ip=192.0.2.1 status=200`, formatLogfmt},
		{`ts="10 Oct" ip=192.0.2.1`, formatLogfmt},
		{`msg="a b`, formatLogfmt},
		{combinedLine(1), formatAuto},
		{`h - - ` + at + ` "GET /?a=b" 200 5`, formatAuto},
		{`h - - [broken a=b`, formatAuto},
		{`"quoted=word`, formatAuto},
		{`=`, formatAuto},
		{``, formatAuto},
		{`[1,2]`, formatAuto},
		{strings.Repeat("x", 2000) + "=1", formatAuto},
	}
	p := parser{format: formatAuto}
	for _, tt := range tests {
		if got := p.formatOf([]byte(tt.in)); got != tt.want {
			t.Errorf("%.40q is taken for %s, want %s", tt.in, got, tt.want)
		}
	}
	if got := (parser{format: formatLogfmt}).formatOf([]byte(`{}`)); got != formatLogfmt {
		t.Errorf("-format logfmt reads %s", got)
	}
}
