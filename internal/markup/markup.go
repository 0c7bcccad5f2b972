// Package markup writes HTML. Nothing but constants of the program becomes markup: whatever is filled in is escaped.
//
// It does the work of html/template. A program that links a template keeps all exported methods of all its types,
// because a template may call any of them by its name, and with the libraries of plimsoll these are a fifth of it.
// internal/repotest keeps templates out of the program.
package markup

import (
	"fmt"
	"html"
	"strings"
)

// HTML is markup that is harmless in a page: that of a [Writer], or of a package that escapes what it draws.
type HTML string

// constant is the type of formats. Only constants have it, because no other package can convert to it.
type constant string

// Writer collects markup. Its zero value is empty.
type Writer struct{ b strings.Builder }

// Add adds markup. Each %s of the format stands for an argument: HTML remains as it is, and anything else is text for
// an element, or for an attribute in double quotes. An address in an attribute must begin with a constant path.
func (w *Writer) Add(format constant, args ...any) {
	for i, a := range args {
		if h, ok := a.(HTML); ok {
			args[i] = string(h)
		} else {
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(&w.b, string(format), args...)
}

// AddIf adds markup if the condition is true.
func (w *Writer) AddIf(condition bool, format constant, args ...any) {
	if condition {
		w.Add(format, args...)
	}
}

// HTML is what was added.
func (w *Writer) HTML() HTML { return HTML(w.b.String()) }

// Text is a text as markup.
func Text(text string) HTML { return HTML(html.EscapeString(text)) }
