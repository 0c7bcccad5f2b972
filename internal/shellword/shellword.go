// Package shellword writes commands as a person would type them into a shell. It runs none.
package shellword

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// plain is a word that a shell takes as it is.
var plain = expression.New(`^[-+./:=@%,_A-Za-z0-9]+$`)

// Quote makes one word of a text.
func Quote(text string) string {
	if plain().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Join makes a command of words.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}
