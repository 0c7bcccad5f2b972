// Package expression has regular expressions that are compiled at their first use. A command needs few of those that
// are in the program, and compiling all of them would take a tenth of the time of a short command.
package expression

import (
	"regexp"
	"sync"
	"testing"
)

// Lazy is a regular expression.
type Lazy func() *regexp.Regexp

// New returns an expression. It panics at the first use of one that is not valid, and at once in tests.
func New(text string) Lazy {
	e := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
	if testing.Testing() {
		e()
	}
	return e
}
