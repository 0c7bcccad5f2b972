package platform

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// NotYet is what a witness saw instead of the effect. It is no failure.
type NotYet string

func (n NotYet) Error() string { return string(n) }

// Request is a step that makes requests to the API of a platform. text is a command that does the same. The error of do
// is the failure of the step, or [NotYet].
func Request(name, text string, do func(ctx context.Context) (string, error)) Step {
	return Step{Name: name, Text: text, Run: func(ctx context.Context) (Command, error) {
		c := Command{Text: text, Request: true, Asked: time.Now()}
		out, err := do(ctx)
		c.Returned, c.Output = time.Now(), visible.Line(out)
		var not NotYet
		switch {
		case errors.As(err, &not):
			c.Exit, c.Output = 1, visible.Line(string(not))
		case err != nil:
			c.Exit, c.Output, c.Problem = -1, "", visible.Line(err.Error())
			return c, Failed(c)
		}
		return c, nil
	}}
}

// ActionsOf are the actions of the table that only one kind of platform has.
func ActionsOf(kind string) []*fault.Action {
	return slices.DeleteFunc(slices.Clone(fault.Everywhere()), func(a *fault.Action) bool { return a.Platform != kind })
}
