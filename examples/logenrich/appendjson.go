package main

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
)

// A field is the text of one field of a line, or its absence, which is not the
// same as being empty.
type field struct {
	text    string
	present bool
}

func some(text string) field { return field{text, true} }

// appendField appends ,"name":value. Text that is not UTF-8 cannot stand in JSON
// and becomes ,"name_base64":"…" so that its bytes are kept.
func appendField(dst []byte, name string, f field) []byte {
	if !f.present {
		return append(appendName(dst, name), "null"...)
	}
	return appendText(dst, name, f.text)
}

func appendText[T string | []byte](dst []byte, name string, text T) []byte {
	if !utf8.ValidString(string(text)) {
		return appendBase64(dst, name, text)
	}
	return appendString(appendName(dst, name), text)
}

func appendBase64[T string | []byte](dst []byte, name string, text T) []byte {
	dst = append(appendName(dst, name+"_base64"), '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(text))
	return append(dst, '"')
}

// appendName appends a member's name and colon, and a comma before it unless it
// is the first.
func appendName(dst []byte, name string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}

func appendInt(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(appendName(dst, name), v, 10)
}

// appendFloat appends a number; an infinite one, which JSON has not, as text.
func appendFloat(dst []byte, name string, v float64) []byte {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return appendText(dst, name, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.AppendFloat(appendName(dst, name), v, 'g', -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendString appends valid UTF-8 as a JSON string. Only what JSON demands is
// escaped.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			dst = append(dst, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
