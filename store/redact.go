package store

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// Redact returns s without the secrets of the addresses in it; see [redact.Addresses].
func Redact(s string) string { return redact.Addresses(s) }

// maxLine is the most bytes of an error's text that [OneLine] keeps.
const maxLine = 400

// OneLine makes the text of an error fit for [Result.Message], for records and for a terminal: one line of visible
// text, without credentials, of bounded length.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(Redact(visible.Line(strings.ToValidUTF8(text, "?")))), " ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
