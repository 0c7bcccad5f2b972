// Package contain converts a panic into an error. The process that measures also makes pages, from files and replies of
// others: a page that panics must not end a run. Code that measures is never contained, because its results would be
// wrong after a panic.
package contain

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// A PanicError is a contained panic.
type PanicError struct {
	What  string // the work, as a noun: "the page of runs/7"
	Value any
	Stack string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s cannot be made, because of a fault in Plimsoll (%.200v at %s): please report it with the record",
		e.What, e.Value, e.where())
}

// where is the function that panicked.
func (e *PanicError) where() string {
	_, after, found := strings.Cut(e.Stack, "panic(")
	if !found {
		return "an unknown place"
	}
	lines := strings.Split(after, "\n")
	if len(lines) < 3 {
		return "an unknown place"
	}
	name, _, _ := strings.Cut(lines[2], "(")
	return strings.TrimSpace(name[strings.LastIndexByte(name, '/')+1:])
}

// Panic does the work and returns its error, or a [*PanicError] if it panicked. It does not contain goroutines that the
// work starts.
func Panic(what string, work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{What: what, Value: v, Stack: string(debug.Stack())}
		}
	}()
	return work()
}
