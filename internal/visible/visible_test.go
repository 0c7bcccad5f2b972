package visible

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

const nasty = "a\x1b]0;pwn\x07\x1b[31m\r\nplimsoll: all is well\t\u202egnp\u009b2J\u2028\ue000\xff\U000e0041z"

func TestLine(t *testing.T) {
	want := "a�]0;pwn��[31m  plimsoll: all is well �gnp�2J ���z"
	if got := Line(nasty); got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	want = "a�]0;pwn��[31m \nplimsoll: all is well\t�gnp�2J ���z"
	if got := Lines(nasty); got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
	if s := "naïve – 12 µs ✓ 日本"; Line(s) != s || Lines(s) != s {
		t.Errorf("visible text was changed: %q", Line(s))
	}
}

func TestBounded(t *testing.T) {
	if got := Bounded("ééééé", 3); got != "ééé… (10 bytes in all)" {
		t.Errorf("%q", got)
	}
	if got := Bounded("ééé", 3); got != "ééé" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(map[string]string{"x": nasty})
	if err != nil {
		t.Fatal(err)
	}
	got := JSON(append(b, '\n'))
	if s := string(got); Lines(s) != s {
		t.Errorf("left in %q", s)
	}
	var before, after map[string]string
	if err := json.Unmarshal(b, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &after); err != nil || after["x"] != before["x"] {
		t.Errorf("%q became %q (%v)", before["x"], after["x"], err)
	}
}

func FuzzLine(f *testing.F) {
	f.Add(nasty)
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		if !utf8.ValidString(got) || strings.IndexFunc(got, harmful) >= 0 || Line(got) != got {
			t.Errorf("%q became %q", s, got)
		}
	})
}
