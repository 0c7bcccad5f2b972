package ycsb

import "fmt"

// Kind is why a call failed. YCSB itself exits with 0 in nearly all of these cases.
type Kind uint8

const (
	Usage       Kind = iota + 1 // the command line, a property or a file is wrong; nothing was done
	Unreachable                 // the target cannot be reached
	Short                       // records are missing after a load
	Nothing                     // no operation was done, or all failed
	Interrupted                 // a signal ended it
)

// Error is the failure of a call.
type Error struct {
	Kind Kind
	Hint string // what to do next, or ""
	err  error
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

func usage(format string, a ...any) error { return failed(Usage, fmt.Errorf(format, a...)) }

func failed(k Kind, err error) error { return &Error{Kind: k, err: err} }

func hinted(k Kind, err error, hint string) error { return &Error{Kind: k, err: err, Hint: hint} }
