// Package permit says what a command may do: start programs, connect to addresses, and open the files that a
// specification or a record names. The command line puts the permit of a command into its context. The places that
// start, connect or open ask for it, so a command that only plans or shows cannot do these by mistake.
//
// The package does not decide what a command may do (cmd/plimsoll does), and it is no sandbox: it stops what Plimsoll
// does on behalf of a file, not code that ignores it. internal/repotest checks that programs are started in one place.
package permit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// Permit is a set of what a command may do.
type Permit uint8

const (
	Execute Permit = 1 << iota // start programs
	Dial                       // connect to addresses
	Read                       // open files that a specification or a record names

	None Permit = 0
	All         = Execute | Dial | Read
)

// ErrRefused is wrapped by all errors of [Check].
var ErrRefused = errors.New("this command only plans or shows")

type key struct{}

// With returns a context with a permit. It takes from the permit of ctx, if that has one, and adds nothing to it.
func With(ctx context.Context, p Permit) context.Context {
	if outer, ok := ctx.Value(key{}).(Permit); ok {
		p &= outer
	}
	return context.WithValue(ctx, key{}, p)
}

// assumed is the permit of contexts without one; nil: none, and all in tests.
var assumed atomic.Pointer[Permit]

// Assume sets the permit of contexts without one. Programs that have no commands that plan, such as benchmarks, assume
// [All]. Tests of whole commands assume [None] as the product does, so they find a context that lost its permit.
func Assume(p Permit) { assumed.Store(&p) }

// Has says whether a context permits everything in p. A context without a permit permits nothing, except in tests.
func Has(ctx context.Context, p Permit) bool {
	have, ok := ctx.Value(key{}).(Permit)
	if !ok {
		if a := assumed.Load(); a != nil {
			have = *a
		} else if testing.Testing() {
			have = All
		}
	}
	return have&p == p
}

// Check returns an error if a context does not permit p. what is the program, address or file.
func Check(ctx context.Context, p Permit, what string) error {
	if Has(ctx, p) {
		return nil
	}
	verb := map[Permit]string{Execute: "start", Dial: "connect to", Read: "read"}[p]
	return fmt.Errorf("%w, so it does not %s %s", ErrRefused, verb, what)
}
