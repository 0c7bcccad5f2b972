// Package contain keeps a panic inside the work in which it happened. Pages are made in the process that measures, from
// files and answers of others: one that cannot be shown must not end a run. It is for work whose result can be done
// without; what measures is never contained, because its results would be wrong.
package contain

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// A PanicError is a panic that was contained.
type PanicError struct {
	What  string // the work, as a noun: "the page of runs/7"
	Value any
	Stack string // where it happened, for a report of the fault
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s cannot be made, because of a fault in Plimsoll (%.200v at %s): please report it with the record", e.What, e.Value, e.where())
}

// where is the function that panicked, from the stack.
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

// Panic does the work and returns its error, or a [*PanicError] if it panicked. A goroutine that the work starts has to
// be contained by itself.
func Panic(what string, work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{What: what, Value: v, Stack: string(debug.Stack())}
		}
	}()
	return work()
}
