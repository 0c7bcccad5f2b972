package nearest

import "testing"

func TestWord(t *testing.T) {
	choices := []string{"threads", "records", "duration", "rate", "warmup"}
	for word, want := range map[string]string{
		"thread":    "threads",
		"thraeds":   "threads",
		"Durations": "duration",
		"rat":       "rate",
		"warm-up":   "warmup",
		"xyzzy":     "",
		"":          "",
	} {
		if got := Word(word, choices); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzWord(f *testing.F) {
	f.Add("threds", "threads")
	f.Fuzz(func(t *testing.T, word, choice string) {
		if got := Word(word, []string{choice}); got != "" && got != choice {
			t.Fatalf("Word(%q, %q) = %q", word, choice, got)
		}
		if choice != "" && Word(choice, []string{choice}) != choice {
			t.Fatalf("%q is not nearest to itself", choice)
		}
	})
}
