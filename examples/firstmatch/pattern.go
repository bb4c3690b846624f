package main

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern is the longest pattern, in bytes: a buffer has to hold several.
const maxPattern = 16 * kiB

// A pattern is what is looked for. Only lit is set for a fixed string. With re,
// which is asked about one line at a time, lit is something that must stand in
// the line, or nil.
type pattern struct {
	lit *literal
	re  *regexp.Regexp
}

func compile(text string, expr, fold bool) (*pattern, error) {
	switch {
	case text == "":
		return nil, errors.New("the pattern is empty")
	case len(text) > maxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes; it may have %d", len(text), maxPattern)
	case !expr && strings.Contains(text, "\n"):
		return nil, errors.New("the pattern has a line break in it; a match lies within a line")
	case !expr:
		return &pattern{lit: newLiteral(text, fold)}, nil
	}
	if fold {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &pattern{re: re}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if s, fold := requiredLiteral(tree.Simplify()); s != "" {
		p.lit = newLiteral(s, fold)
	}
	return p, nil
}

// span is how many bytes of what was searched in vain have to be kept for a
// match that goes on in what comes next.
func (p *pattern) span() int {
	if p.lit == nil {
		return 0
	}
	return p.lit.span - 1
}
