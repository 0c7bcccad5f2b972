package gobuild

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program is made of the files of all its packages in this module and of what they embed, and of no others.
func TestSources(t *testing.T) {
	files, err := sources("github.com/plimsoll-bench/plimsoll/cmd/plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "cmd/plimsoll/version.go", "load/load.go", "record/schema/run.schema.json"} {
		if !slices.Contains(files, filepath.Join(top, name)) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, f := range files {
		if !strings.HasPrefix(f, top+"/") || strings.HasSuffix(f, "_test.go") {
			t.Errorf("%s is no source of it", f)
		}
	}
}

// A program is built, and what does not build says why.
func TestProgram(t *testing.T) {
	out := filepath.Join(t.TempDir(), "mongo")
	if err := Program(out, "lab/engine/testdata/mongo"); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(out).CombinedOutput(); err == nil || !strings.Contains(string(text), "the stand-in fails") {
		t.Errorf("%v: %s", err, text)
	}
	if err := Program(out, "no/such"); err == nil || !strings.Contains(err.Error(), "no/such") {
		t.Errorf("a package that does not exist: %v", err)
	}
}
