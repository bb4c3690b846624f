package main

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLiteralFindsTheFirstOccurrence(t *testing.T) {
	r := randomSeed(t)
	found := 0
	for range 10_000 {
		alphabet := []string{"ab", "ab\x00", "eE t", "az\xff", "aé\u20ac"}[r.IntN(5)]
		text, hay := randomBytes(r, alphabet, 1+r.IntN(6)), randomBytes(r, alphabet, r.IntN(80))
		want := bytes.Index(hay, text)
		if got, n := newLiteral(string(text), false).index(hay); got != want || got >= 0 && n != len(text) {
			t.Fatalf("%q in %q: %d, want %d", text, hay, got, want)
		}
		if want >= 0 {
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d found", found)
	}
}

func randomBytes(r *rand.Rand, alphabet string, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return b
}

// Many vain looks at the rare byte change the way of searching, not the result.
func TestLiteralInTextThatIsFullOfItsRareByte(t *testing.T) {
	for _, n := range []int{0, 1, patience - 1, patience, patience + 1, 1000} {
		for _, text := range []string{"zaz", "az", "za", "zzza"} {
			hay := []byte(strings.Repeat("z", n) + text + strings.Repeat("z", 100) + text)
			if got, _ := newLiteral(text, false).index(hay); got != bytes.Index(hay, []byte(text)) {
				t.Errorf("%q after %d: %d", text, n, got)
			}
			hay = bytes.ReplaceAll(hay, []byte("a"), []byte("z"))
			if got, _ := newLiteral(text, false).index(hay); got != -1 {
				t.Errorf("%q after %d: %d", text, n, got)
			}
		}
	}
}

func TestLiteralWithFoldAgreesWithRegexp(t *testing.T) {
	r := randomSeed(t)
	runes := []rune("aAbBkK\u212asSſßẞéÉµμΜzZ1 �")
	found := 0
	for range 10_000 {
		text, hay := randomRunes(r, runes, 1+r.IntN(4)), randomRunes(r, runes, r.IntN(40))
		if r.IntN(4) == 0 && len(hay) > 0 {
			k := r.IntN(len(hay))
			hay = hay[:k] + "\xff" + hay[k:] // no part of a rune that the text has
			if strings.Contains(text, "�") {
				continue // which the expression takes for it
			}
		}
		loc := regexp.MustCompile("(?i)" + regexp.QuoteMeta(text)).FindStringIndex(hay)
		at, n := newLiteral(text, true).index([]byte(hay))
		if (loc == nil) != (at < 0) || loc != nil && (loc[0] != at || loc[1] != at+n) {
			t.Fatalf("%q in %q: %d, %d; want %v", text, hay, at, n, loc)
		}
		if loc != nil {
			found++
			if n > newLiteral(text, true).span {
				t.Fatalf("%q matches %q, which is longer than %d", text, hay[at:at+n], newLiteral(text, true).span)
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d found", found)
	}
}

func randomRunes(r *rand.Rand, runes []rune, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	return b.String()
}

// What an expression takes for U+FFFD, a byte that is no rune, a string does not.
func TestLiteralWithFoldTakesBytesAsTheyAre(t *testing.T) {
	for _, tt := range []struct {
		text, hay string
		want      int
	}{
		{"�", "a\xffb", -1}, {"�", "a\xff�", 2}, {"\xff", "a\xff", 1}, {"\xffA", "\xff\xffa", 1}, {"A\xff", "é\xffa\xff", 3},
		{"k", "\u212a", 0}, {"s", "xſ", 1}, {"\xe2\x84", "\u212a", 0}, {"ſt", "xST", 1}, {"\u212a", "k", 0},
	} {
		if got, _ := newLiteral(tt.text, true).index([]byte(tt.hay)); got != tt.want {
			t.Errorf("%q in %q: %d, want %d", tt.text, tt.hay, got, tt.want)
		}
	}
}

func TestRequiredLiteral(t *testing.T) {
	for _, tt := range []struct {
		expr, want string
		fold       bool
	}{
		{"abc", "abc", false}, {"a.bcd", "bcd", false}, {"(abc)+", "abc", false}, {"(abc)*", "", false}, {"(abc)?d", "d", false},
		{"abc|abd", "ab", false}, {"x{2,3}", "x", false}, {"x{0,3}", "", false}, {"a|bc", "", false}, {"^abc$", "abc", false},
		{"(?i)abc", "ABC", true}, {`ab\ncdef`, "", false}, {`\x{fffd}ab`, "", false}, {".*", "", false}, {"[ab]c", "c", false},
	} {
		tree, err := syntax.Parse(tt.expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got, fold := requiredLiteral(tree.Simplify()); got != tt.want || got != "" && fold != tt.fold {
			t.Errorf("%s: %q, %v", tt.expr, got, fold)
		}
	}
}

func FuzzScanAgreesWithTheNaiveSearch(f *testing.F) {
	f.Add("needle", []byte("a needle\r\nin\x00 a\xff haystack"), false, false, uint8(0))
	f.Add("n.*e", []byte("needle\nnone"), true, true, uint8(9))
	f.Add("kſ", []byte("\u212aS ks"), false, true, uint8(3))
	f.Fuzz(func(t *testing.T, text string, data []byte, expr, fold bool, more uint8) {
		if len(text) > 16 || fold && !utf8.ValidString(text) || fold && strings.Contains(text, "�") {
			t.Skip("outside of what is compared")
		}
		p, err := compile(text, expr, fold)
		if err != nil {
			t.Skip("no pattern: ", err)
		}
		n := naive{text: text, expr: expr, fold: fold, show: 64}
		buf := 2*n.show + 3*len(text) + 8 + int(more)
		if expr {
			buf += len(data)
		}
		got, err := scanAll(t, p, &drips{string(data)}, buf, n.show)
		if want := n.search(data, -1); err != nil || !sameMatches(got, want) {
			t.Errorf("got  %v, %v\nwant %v", got, err, want)
		}
	})
}
