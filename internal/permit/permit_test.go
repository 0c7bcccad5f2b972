package permit

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestPermits(t *testing.T) {
	if !Has(context.Background(), All) {
		t.Error("tests of other packages need a helper to start programs")
	}
	Assume(None)
	defer assumed.Store(nil)
	none := context.Background()
	plan := With(none, Dial|Read)
	for _, c := range []struct {
		name string
		ctx  context.Context
		p    Permit
		want bool
	}{
		{"no permit", none, Execute, false},
		{"no permit", none, Read, false},
		{"execute in all", With(none, All), Execute, true},
		{"execute in a plan", plan, Execute, false},
		{"dial in a plan", plan, Dial, true},
		{"both in a plan", plan, Dial | Execute, false},
		{"a plan cannot be widened", With(plan, All), Execute, false},
		{"a plan that is cancelled", context.WithoutCancel(plan), Read, true},
	} {
		err := Check(c.ctx, c.p, "it")
		if got := Has(c.ctx, c.p); got != c.want || (err == nil) != c.want || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: Has is %v, Check is %v, want %v", c.name, got, err, c.want)
		}
	}
	if err := Check(plan, Execute, "/tmp/mongod"); err == nil || !strings.Contains(err.Error(), "does not start /tmp/mongod") {
		t.Errorf("the error is %v", err)
	}
}
