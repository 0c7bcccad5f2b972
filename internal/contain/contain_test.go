package contain

import (
	"errors"
	"strings"
	"testing"
)

func TestPanicBecomesAnError(t *testing.T) {
	err := Panic("the page of x", func() error {
		var list []int
		_ = list[len(t.Name())]
		return nil
	})
	var p *PanicError
	if !errors.As(err, &p) || !strings.Contains(p.Stack, "contain_test.go") {
		t.Fatalf("got %v, want a panic with its stack", err)
	}
	if text := err.Error(); !strings.Contains(text, "the page of x") || !strings.Contains(text, "contain.TestPanicBecomesAnError") {
		t.Errorf("the error does not say what could not be made, and where it failed: %s", text)
	}
}

func TestWorkWithoutPanic(t *testing.T) {
	want := errors.New("no")
	if err := Panic("x", func() error { return want }); err != want {
		t.Errorf("got %v, want the error of the work", err)
	}
}
