package record

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestRedactAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"mongodb://h1,h2/db?w=1":        "mongodb://h1,h2/db?w=1",
		"mongodb://u:p@h/":              "mongodb://u:***@h/",
		"mongodb+srv://u:p@h/?tls=true": "mongodb+srv://u:***@h/?tls=true",
		"mongodb://u:p/q?r@s@h/?x=1":    "mongodb://u:***@h/?x=1",
		"mongodb://u@h/":                "mongodb://u@h/",
		"mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:abc&w=1": "mongodb://h/?authMechanismProperties=***&w=1",
		`dial "mongodb://u:p@h/" failed`:                                 `dial "mongodb://u:***@h/" failed`,
		"one MongoDB://a:b@h and mongodb://c:d@i":                        "one MongoDB://a:***@h and mongodb://c:***@i",
		"mongodb is a word":                                              "mongodb is a word",
	} {
		if got := redact.Addresses(in); got != want {
			t.Errorf("%q → %q, want %q", in, got, want)
		}
	}
}

func TestKnownSecretsAreRemovedInEveryForm(t *testing.T) {
	var r redactor
	r.learn(spec.Run{Target: "mongodb://u:p%40ss%20word@h/"})
	for _, in := range []string{"tried p@ss word", "tried p%40ss%20word", "tried p%40ss+word"} {
		if got := r.text(in); got != "tried ***" {
			t.Errorf("%q → %q", in, got)
		}
	}
	r.known.Add("ab")
	if got := r.text("about"); got != "about" {
		t.Errorf("a password of two letters destroyed a text: %q", got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("mongodb://user:", "secretword", "@host/?a=b")
	f.Add("x mongodb+srv://u:", "p@ss/w?rd", "@h")
	f.Add("mongodb://:", "İİİ", "@")
	f.Add("0", "* \x00", "\x00") // what hides it may form it again
	f.Fuzz(func(t *testing.T, before, password, after string) {
		if len(password) < 3 || strings.Contains(before+after+hidden, password) || strings.Contains(password, hidden) {
			return
		}
		// A short password of letters and digits is hidden where it stands by itself: it may be a part of any word.
		before, after = before+" ", " "+after
		r := redactor{}
		r.known.Add(password)
		if out := r.text(before + password + after); strings.Contains(out, password) &&
			!strings.Contains(before+hidden+after, password) {
			t.Errorf("%q stays in %q", password, out)
		}
	})
}
