package main

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A literal finds a string of bytes in a block of text. It looks for the byte of
// the string that is rarest in ordinary text, with the assembly of
// bytes.IndexByte, and only where that stands compares the whole.
//
// With fold it finds the string in any case, as strings.EqualFold sees it: each
// rune of the string stands for all that fold to it, which may differ in length.
// Bytes of the string that are not valid UTF-8 stand for themselves.
type literal struct {
	text     []byte
	at       int     // where in text the rare byte stands
	variants [2]byte // the rare byte, in both cases

	fold  bool
	parts []part // of a literal with fold
	rare  int    // the part that is the rare byte; -1 if no part is sure to be one of two bytes
	first [256]bool
	span  int // the most bytes that an occurrence can have
}

// A part is a rune of a literal with fold, or a byte that is no rune.
type part struct {
	r   rune // the smallest rune that folds to it; -1 for a byte
	raw byte
}

// byFrequency has the bytes that are common in source code, logs and programs,
// most common first: counted in the source tree of Go, NUL counted less.
const byFrequency = " et0rn\taios,xclf\ndu1.pA(/)2mg:h\"=4b_3SE6Ty8Rv{}\x00ICO5D\\P9LM7kB\xffHwXNVF\x01-[]UG\x02*\x03Q\x0fW|!;\x04+Yz\x06$&<K\x89\b'>%\x10q@\x05jZ\x0eJ`\x80\xc0\x8b\x83"

var rarity = func() (r [256]int) {
	for i := range r {
		r[i] = len(byFrequency)
	}
	for i := range len(byFrequency) {
		r[byFrequency[i]] = i
	}
	return r
}()

// newLiteral makes a literal of text, which is not empty.
func newLiteral(text string, fold bool) *literal {
	l := &literal{text: []byte(text), span: len(text)}
	if fold {
		l.prepareFold()
		return l
	}
	for i, c := range l.text {
		if rarity[c] > rarity[l.text[l.at]] {
			l.at = i
		}
	}
	l.variants = [2]byte{l.text[l.at], l.text[l.at]}
	return l
}

func (l *literal) prepareFold() {
	l.fold, l.rare, l.span = true, -1, 0
	best := -1
	for rest := l.text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		p := part{r: foldOf(r)}
		if r == utf8.RuneError && size == 1 {
			p = part{r: -1, raw: rest[0]}
		}
		lower, upper, two := p.bytes()
		if worth := rarity[lower] + rarity[upper]; two && worth > best {
			best, l.rare, l.variants = worth, len(l.parts), [2]byte{lower, upper}
		}
		if len(l.parts) == 0 {
			p.each(func(c byte) { l.first[c] = true })
		}
		l.span += p.width()
		l.parts = append(l.parts, p)
		rest = rest[size:]
	}
}

// foldOf is the smallest of the runes that fold to each other.
func foldOf(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// variantsOf calls f for each rune that a part stands for.
func (p part) variantsOf(f func(rune)) {
	f(p.r)
	for v := unicode.SimpleFold(p.r); v != p.r; v = unicode.SimpleFold(v) {
		f(v)
	}
}

// bytes are the one or two bytes that a part stands for, if that is all.
func (p part) bytes() (lower, upper byte, ok bool) {
	if p.r < 0 {
		return p.raw, p.raw, true
	}
	ok, n := true, 0
	p.variantsOf(func(v rune) {
		switch {
		case v >= utf8.RuneSelf || n == 2:
			ok = false
		case n == 0:
			lower, upper = byte(v), byte(v)
		default:
			lower = byte(v)
		}
		n++
	})
	return lower, upper, ok
}

// each calls f for each byte that a part can begin with.
func (p part) each(f func(byte)) {
	if p.r < 0 {
		f(p.raw)
		return
	}
	p.variantsOf(func(v rune) {
		var b [utf8.UTFMax]byte
		utf8.EncodeRune(b[:], v)
		f(b[0])
	})
}

// width is the most bytes that a part can have.
func (p part) width() int {
	w := 1
	if p.r >= 0 {
		p.variantsOf(func(v rune) { w = max(w, utf8.RuneLen(v)) })
	}
	return w
}

// index returns where the first occurrence in b begins, and how long it is; or
// -1.
func (l *literal) index(b []byte) (at, length int) {
	if l.fold {
		return l.indexFold(b)
	}
	return l.indexExact(b), len(l.text)
}

// A search that finds the rare byte in vain more often than once in so many
// bytes is given to bytes.Index.
const denseness, patience = 32, 64

func (l *literal) indexExact(b []byte) int {
	n := len(l.text)
	if n == 1 {
		return bytes.IndexByte(b, l.text[0])
	}
	// An occurrence has its rare byte at or after l.at, with room for what
	// follows it.
	end := len(b) - (n - 1 - l.at)
	head, tail := l.text[0], l.text[n-1]
	for i, vain := l.at, 0; i < end; i++ {
		k := bytes.IndexByte(b[i:end], l.variants[0])
		if k < 0 {
			return -1
		}
		i += k
		from := i - l.at
		if b[from] == head && b[from+n-1] == tail && bytes.Equal(b[from:from+n], l.text) {
			return from
		}
		if vain++; vain >= patience && vain*denseness > i {
			if k := bytes.Index(b[from+1:], l.text); k >= 0 {
				return from + 1 + k
			}
			return -1
		}
	}
	return -1
}

func (l *literal) indexFold(b []byte) (at, length int) {
	if l.rare < 0 {
		for i, c := range b {
			if l.first[c] {
				if end, ok := l.forward(b, i, l.parts); ok {
					return i, end - i
				}
			}
		}
		return -1, 0
	}
	// next are where the two cases of the rare byte stand next.
	next := [2]int{-1, -1}
	for i := 0; ; i++ {
		for v, c := range l.variants {
			if next[v] < i {
				next[v] = len(b)
				if k := bytes.IndexByte(b[i:], c); k >= 0 {
					next[v] = i + k
				}
			}
			if l.variants[0] == l.variants[1] {
				next[1] = next[0]
				break
			}
		}
		i = min(next[0], next[1])
		if i == len(b) {
			return -1, 0
		}
		if from, ok := l.backward(b, i); ok {
			if end, ok := l.forward(b, i, l.parts[l.rare:]); ok {
				return from, end - from
			}
		}
	}
}

// forward reports whether parts stand at b[i:], and where they end.
func (l *literal) forward(b []byte, i int, parts []part) (end int, ok bool) {
	for _, p := range parts {
		if i >= len(b) {
			return 0, false
		}
		r, size := rune(b[i]), 1
		if r >= utf8.RuneSelf && p.r >= 0 {
			r, size = utf8.DecodeRune(b[i:])
		}
		if !p.is(r, size, b[i]) {
			return 0, false
		}
		i += size
	}
	return i, true
}

// backward reports whether the parts before the rare one stand before b[i], and
// where they begin.
func (l *literal) backward(b []byte, i int) (from int, ok bool) {
	for k := l.rare - 1; k >= 0; k-- {
		if i == 0 {
			return 0, false
		}
		p := l.parts[k]
		r, size := rune(b[i-1]), 1
		if r >= utf8.RuneSelf && p.r >= 0 {
			r, size = utf8.DecodeLastRune(b[:i])
		}
		if !p.is(r, size, b[i-1]) {
			return 0, false
		}
		i -= size
	}
	return i, true
}

// is reports whether the part stands for what was decoded.
func (p part) is(r rune, size int, raw byte) bool {
	switch {
	case p.r < 0:
		return raw == p.raw
	case r == p.r:
		return r != utf8.RuneError || size > 1
	case r < utf8.RuneSelf && p.r < utf8.RuneSelf:
		return 'a' <= r && r <= 'z' && r-('a'-'A') == p.r
	case r == utf8.RuneError && size == 1:
		return false
	}
	return foldOf(r) == p.r
}
