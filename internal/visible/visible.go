// Package visible makes untrusted text harmless for a terminal, a page or a log: it replaces control characters, marks
// that change the direction of writing and line breaks, and bounds the length.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line of visible text. Line breaks and tabs become spaces; other invisible characters and bytes
// that are not UTF-8 become U+FFFD.
func Line(s string) string {
	return replaced(s, func(r rune) rune {
		switch r {
		case '\n', '\t', '\r', '\u2028', '\u2029':
			return ' '
		}
		return utf8.RuneError
	})
}

// Lines is [Line] for text of several lines: line feeds and tabs stay.
func Lines(s string) string {
	return replaced(s, func(r rune) rune {
		switch r {
		case '\n', '\t':
			return r
		case '\r', '\u2028', '\u2029':
			return ' '
		}
		return utf8.RuneError
	})
}

func replaced(s string, instead func(rune) rune) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, harmful) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if harmful(r) {
			return instead(r)
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// harmful reports whether a character moves the cursor, changes colours or the direction of writing, breaks a line, or
// is for private use, so that a font decides its shape.
func harmful(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// Bounded returns at most most characters of s. If it omits some, it appends the length of s.
func Bounded(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	count := 0
	for i := range s {
		if count++; count > most {
			return fmt.Sprintf("%s… (%d bytes in all)", s[:i], len(s))
		}
	}
	return s
}

// JSON returns JSON in which every character that [Lines] replaces is an escape.
func JSON(b []byte) []byte {
	s := string(b)
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r != '\n' && harmful(r) }) < 0 {
		return b
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || !harmful(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String())
}
