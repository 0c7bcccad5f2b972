package store

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// Redact hides the secrets of the addresses in s; see [redact.Addresses].
func Redact(s string) string { return redact.Addresses(s) }

// maxLine is the length of a text of [OneLine] in bytes.
const maxLine = 400

// OneLine makes the text of an error fit for [Result.Message], records and terminals: one line of visible text of
// bounded length without credentials.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(Redact(visible.Line(strings.ToValidUTF8(text, "?")))), " ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
