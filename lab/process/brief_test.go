package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBrief(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(log, []byte("starting\nERROR: first\nthe disk is full, fatal\nERROR: last\nbye\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"nothing of a log":        "nothing of a log",
		"":                        "",
		"it ended" + LogTail(log): "it ended: the disk is full, fatal (log: " + log + ")",
		"on host1: it ended" + LogTail(log) + "\non host2: it is off": "on host1: it ended: the disk is full, fatal (log: " + log + ")\non host2: it is off",
		"a" + LogTail(log) + "\nb" + LogTail(log):                     "a: the disk is full, fatal (log: " + log + ")\nb: the disk is full, fatal (log: " + log + ")",
		"x; y.log ends with:\n  | one\n  | two":                       "x: two (log: y.log)",
		"x ends with:\n":                                              "x",
	} {
		if got := Brief(text); got != want {
			t.Errorf("of\n%s\nis left\n%s\nwant\n%s", text, got, want)
		}
	}
}
