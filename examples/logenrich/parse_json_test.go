package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONLinesAreCarriedAsTheyAreAndGiveTheKey(t *testing.T) {
	names := keyFields[keyClient]
	tests := []struct {
		name, in string
		key      field
	}{
		{"plain", `{"ip":"192.0.2.1","n":1}`, some("192.0.2.1")},
		{"the likeliest name", `{"ip":"192.0.2.1","remote_addr":"192.0.2.2"}`, some("192.0.2.2")},
		{"last of equals", `{"ip":"192.0.2.1","ip":"192.0.2.2"}`, some("192.0.2.2")},
		{"null counts as none", `{"remote_addr":null,"ip":"192.0.2.2"}`, some("192.0.2.2")},
		{"only at the top", `{"a":{"ip":"192.0.2.1"},"b":[{"ip":"192.0.2.2"}]}`, field{}},
		{"behind nested ones", `{"a":{"b":["}",{"c":"]\""}]},"ip":"192.0.2.1"}`, some("192.0.2.1")},
		{"number", `{"client":17}`, some("17")},
		{"true is no key", `{"client":true}`, field{}},
		{"object is no key", `{"client":{"ip":"192.0.2.1"}}`, field{}},
		{"empty text", `{"client":""}`, some("")},
		{"empty object", `{}`, field{}},
		{"spaces", "\t { \"ip\" :\t\"192.0.2.1\" , \"x\" : [ 1 , 2 ] } \r", some("192.0.2.1")},
		{"escaped name and value", `{"\u0069p":"fe80::1\u0025eth0\/\"\\"}`, some(`fe80::1%eth0/"\`)},
		{"surrogates", `{"ip":"\ud83d\ude00"}`, some("😀")},
		{"half a pair stays as written", `{"ip":"\ud83d"}`, some(`\ud83d`)},
		{"digits are kept", `{"ip":"x","n":12345678901234567890.10e400}`, some("x")},
		{"NUL", `{"ip":"a\u0000b"}`, some("a\x00b")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members, key, err := parseJSON([]byte(tt.in), names)
			if err != nil || key != tt.key {
				t.Fatalf("key %+v, %v; want %+v", key, err, tt.key)
			}
			if want := `"fields":` + strings.Trim(tt.in, " \t\r"); string(members) != want {
				t.Errorf("got %s, want %s", members, want)
			}
		})
	}
}

// C135: bytes that are not UTF-8 are not replaced.
func TestC135JSONThatIsNotUTF8IsKeptInBase64(t *testing.T) {
	in := "{\"ip\":\"192.0.2.1\",\"agent\":\"caf\xe9\"}"
	members, key, err := parseJSON([]byte(in), keyFields[keyClient])
	if err != nil || key != some("192.0.2.1") {
		t.Fatal(key, err)
	}
	var got struct {
		Fields []byte `json:"fields_base64"`
	}
	if err := json.Unmarshal([]byte("{"+string(members)+"}"), &got); err != nil || string(got.Fields) != in {
		t.Errorf("%s: %q, %v", members, got.Fields, err)
	}
	if _, key, _ = parseJSON([]byte("{\"ip\":\"\\u0041\xe9\"}"), keyFields[keyClient]); key != some("A\xe9") {
		t.Errorf("the key is %q", key.text)
	}
}

func TestC139LinesThatAreNoJSONObjectAreMalformed(t *testing.T) {
	for _, in := range []string{
		"", " ", "null", "17", `"x"`, "[1]", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{"b":2}`, `{a:1}`,
		`{"a":01}`, `{"a":"` + "\x01" + `"}`, `{"a":"` + "\x00" + `"}`, `{"a":NaN}`, `{'a':1}`, "{\"a\":1}\u00a0", `{"a":"\x"}`,
		strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		if members, key, err := parseJSON([]byte(in), keyFields[keyClient]); err == nil || members != nil || key != (field{}) {
			t.Errorf("%.30q: %q, %v, %v", in, members, key, err)
		}
	}
}

func TestLogfmtLines(t *testing.T) {
	tests := []struct {
		name, in, want string
		key            field
	}{
		{"plain", `ip=192.0.2.1 status=200`, `{"ip":"192.0.2.1","status":"200"}`, some("192.0.2.1")},
		{"quoted", `msg="a b" ip="192.0.2.1"`, `{"msg":"a b","ip":"192.0.2.1"}`, some("192.0.2.1")},
		{"empty, bare, empty quoted", `a= b c="" ip=x`, `{"a":"","b":null,"c":"","ip":"x"}`, some("x")},
		{"spaces and tabs between", "  a=1 \t  ip=x  ", `{"a":"1","ip":"x"}`, some("x")},
		{"= in a value", `url=/x?a=b&c=d`, `{"url":"/x?a=b&c=d"}`, field{}},
		{"escapes", `ip="\"\\\/\n\t\r\b\f\u00e9\ud83d\ude00\x41\U0001F600\'"`, `{"ip":"\"\\/\n\t\r\u0008\u000cé😀A😀'"}`, some("\"\\/\n\t\r\b\fé😀A😀'")},
		{"a key again", `a=1 ip=x a=2 a`, `{"a":["1","2",null],"ip":"x"}`, some("x")},
		{"last key counts", `ip=x ip=y`, `{"ip":["x","y"]}`, some("y")},
		{"bare key is no client", `ip host=h`, `{"ip":null,"host":"h"}`, some("h")},
		{"UTF-8", `naïve=café ip=x`, `{"naïve":"café","ip":"x"}`, some("x")},
		{"backslash unquoted", `path=C:\dir ip=x`, `{"path":"C:\\dir","ip":"x"}`, some("x")},
		{"control characters quoted", "a=\"x\x00\x01y\" ip=x", `{"a":"x\u0000\u0001y","ip":"x"}`, some("x")},
		{"long value", `ip=x a="` + strings.Repeat("y", 70_000) + `"`, `{"ip":"x","a":"` + strings.Repeat("y", 70_000) + `"}`, some("x")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members, key, err := parseLogfmt(tt.in, keyFields[keyClient])
			if err != nil || string(members) != `"fields":`+tt.want || key != tt.key {
				t.Errorf("%s, %+v, %v\nwant %s", members, key, err, tt.want)
			}
			if !json.Valid([]byte("{" + string(members) + "}")) {
				t.Error("not JSON")
			}
		})
	}
}

func TestC135LogfmtThatIsNotUTF8IsKeptInBase64(t *testing.T) {
	for _, in := range []string{"ip=x a=caf\xe9", `ip=x a="caf\xe9"`, "ip=x k\xe9y=v", "ip=x a=\"\xff\\n\""} {
		members, key, err := parseLogfmt(in, keyFields[keyClient])
		want := `"fields_base64":"` + base64.StdEncoding.EncodeToString([]byte(in)) + `"`
		if err != nil || string(members) != want || key != some("x") {
			t.Errorf("%q: %s, %+v, %v", in, members, key, err)
		}
	}
}

func TestC139LinesThatAreNoLogfmtAreMalformed(t *testing.T) {
	for _, in := range []string{
		"", "  ", "=", "=v", "a=1 =2", `"a"=1`, `a"b=1`, `a="b`, `a="b\`, `a="b\"`, `a="b"c`, `a="b"c=d`, `a=b"c`, `a=b"c"`,
		`a="\q"`, `a="\u12"`, `a="\ud83d"`, `a="\ude00"`, `a="\ud83d\u0041"`, `a="\x4"`, "a=b\x00c=d", "a\x00=b", "a=1\vb=2", "\x00",
	} {
		if members, key, err := parseLogfmt(in, keyFields[keyClient]); err == nil || members != nil || key != (field{}) {
			t.Errorf("%q: %q, %v, %v", in, members, key, err)
		}
	}
}
