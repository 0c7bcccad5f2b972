package pathname

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]string{
		"rs0-1": "rs0-1", "db1.example_2": "db1.example_2", "": "%", ".": "%2e", "..": "%2e.", "-rf": "%2drf", "a/b": "a%2fb",
		"a:1": "a%3a1", "a%3a1": "a%253a1", "a\nb": "a%0ab", "é": "%c3%a9",
	} {
		if got := Of(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("x", 300)
	if a, b := Of(long), Of(long+"y"); a == b || len(a) != longest || len(b) != longest {
		t.Errorf("long names are %q and %q", a, b)
	}
}

// FuzzOf looks for two names with the same element, and for elements that are no single name.
func FuzzOf(f *testing.F) {
	f.Add("a", "b")
	f.Add("a%2fb", "a/b")
	f.Add(strings.Repeat("x", 101), strings.Repeat("x", 102))
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Of(a), Of(b)
		if (x == y) != (a == b) {
			t.Errorf("%q and %q are %q and %q", a, b, x, y)
		}
		if x == "" || x == "." || x == ".." || filepath.Base(x) != x || len(x) > longest || strings.HasPrefix(x, "-") {
			t.Errorf("%q is %q, which is not a name of a file", a, x)
		}
	})
}
