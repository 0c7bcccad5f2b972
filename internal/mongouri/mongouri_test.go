package mongouri

import (
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		"mongodb://h":   "mongodb://h/",
		"mongodb://h/?": "mongodb://h/",
		"mongodb://u:p%2F@a:1,b:2/my%2Ddb?w=1;x&Y=%40":   "mongodb://u:p%2F@a:1,b:2/my%2Ddb?w=1&x&Y=%40",
		"mongodb+srv://u:p@ss@h/db?maxPoolSize=5&&tls=1": "mongodb+srv://u:p@ss@h/db?maxPoolSize=5&tls=1",
	} {
		a, err := Parse(text)
		if err != nil || a.String() != want {
			t.Errorf("%s became %s, %v, want %s", text, a, err, want)
		}
	}
	a, _ := Parse("mongodb://u:p%2F@a:1,b:2/my%2Ddb?W=1")
	if a.User != "u:p%2F@" || a.Hosts != "a:1,b:2" || a.Database() != "my-db" {
		t.Errorf("%+v", a)
	}
	if w, ok := a.Option("j", "w"); !ok || w != "1" {
		t.Errorf("w is %q, %v", w, ok)
	}
	for _, wrong := range []string{"", "nonsense", "http://u:secret@h/", "mongodb:/u:secret@h", "mongodb://u:secret@h/?a=%zz"} {
		if a, err := Parse(wrong); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q became %+v, %v", wrong, a, err)
		}
	}
}

func TestSetAndDrop(t *testing.T) {
	a, err := Parse("mongodb://h/?replicaSet=rs&W=1&tls=true&w=2")
	if err != nil {
		t.Fatal(err)
	}
	before := a
	a.Set("w", "majority")
	a.Set("appName", "a&b")
	if want := "mongodb://h/?replicaSet=rs&w=majority&tls=true&appName=a%26b"; a.String() != want {
		t.Errorf("%s, want %s", a, want)
	}
	if !a.Drop("REPLICASET", "none") || a.Drop("none") || a.String() != "mongodb://h/?w=majority&tls=true&appName=a%26b" {
		t.Errorf("%s", a)
	}
	if before.String() != "mongodb://h/?replicaSet=rs&W=1&tls=true&w=2" {
		t.Errorf("a copy changed to %s", before)
	}
}

// A parsed address can be written and parsed again, with the same parts.
func FuzzParse(f *testing.F) {
	f.Add("mongodb://u:p@h1,h2:3/db?w=1&j=true;maxPoolSize=3")
	f.Add("mongodb+srv://h?")
	f.Add("mongodb:///%zz?=&&")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(a.String())
		if err != nil || again.String() != a.String() {
			t.Errorf("%q became %q, then %q, %v", text, a, again, err)
		}
		a.Set("x", text)
		if _, ok := a.Option("X"); !ok || !a.Drop("x") || a.Drop("x") {
			t.Errorf("%q: an option that was set is not there", text)
		}
	})
}
