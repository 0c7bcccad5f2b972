package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

func TestAddressOf(t *testing.T) {
	const uri = "mongodb://user:hunter2@h/"
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "@" + path
	}
	open := func(word string) string { // for all users
		if err := os.Chmod(word[1:], 0o644); err != nil {
			t.Fatal(err)
		}
		return word
	}
	variables := map[string]string{"URI": uri, "EMPTY": " ", "WORD": "hunter2"}
	for word, want := range map[string]string{
		"null:": "null:", uri: uri, "env:URI": uri, file("uri", uri+"\n"): uri, "@-": uri,
		"env:MISSING": "", "env:EMPTY": "", "env:WORD": "", "@missing": "", file("empty", "\n"): "", file("two", uri+"\n"+uri): "", file("word", "hunter2"): "",
		file("large", uri+strings.Repeat("x", 2*maxAddressFile)): "",
		open(file("readable", uri)):                              "", open(file("no password", "mongodb://h/")): "mongodb://h/",
	} {
		removed := ""
		env := &environment{stdin: strings.NewReader(uri), secrets: new(redact.Known), getenv: func(name string) string {
			return variables[name]
		},
			unsetenv: func(name string) error { removed = name; return nil }}
		got, err := addressOf(env, word)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("addressOf(%q) = %q, %v; want %q", word, got, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || exitCode(err) != exitUsage) {
			t.Errorf("addressOf(%q): %v, exit %d", word, err, exitCode(err))
		}
		if want == uri && word != uri && env.secrets.Hide("a hunter2 b") != "a *** b" {
			t.Errorf("the password of %q is not known", word)
		}
		if word == "env:URI" && removed != "URI" {
			t.Errorf("other processes get the variable")
		}
	}
}

// TestHelpSaysHowToHideAddresses looks at every command that takes an address.
func TestHelpSaysHowToHideAddresses(t *testing.T) {
	for _, command := range []string{"run", "drill", "doctor", "ycsb", "suite run", "suite plan", "suite resume"} {
		_, help, _ := here(t, append(strings.Fields(command), "--help")...)
		for _, form := range []string{"env:NAME", "@FILE", "@-"} {
			if !strings.Contains(help, form) {
				t.Errorf("plimsoll %s --help does not show %s", command, form)
			}
		}
	}
	if _, help, _ := here(t, "run", "--help-all"); !strings.Contains(help, "-f -") {
		t.Error("plimsoll run --help-all does not show -f -")
	}
}
