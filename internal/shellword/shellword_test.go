package shellword

import "testing"

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "": "''", "p99<20ms": "'p99<20ms'", "it's": `'it'\''s'`, "$(rm -rf x)": "'$(rm -rf x)'", "-p=a/b:1": "-p=a/b:1"} {
		if got := Quote(in); got != want {
			t.Errorf("%q becomes %s, want %s", in, got, want)
		}
	}
}
