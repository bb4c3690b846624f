package main

import (
	"regexp/syntax"
	"strings"
)

// requiredLiteral returns the longest string that every match of the expression
// has in it, and in which case; "" if none is known.
func requiredLiteral(re *syntax.Regexp) (text string, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		s := string(re.Rune)
		if strings.ContainsAny(s, "\n\ufffd") {
			return "", false // U+FFFD also stands for a byte that is not valid UTF-8
		}
		return s, re.Flags&syntax.FoldCase != 0
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if s, f := requiredLiteral(sub); len(s) > len(text) {
				text, fold = s, f
			}
		}
	}
	return text, fold
}
