package gobuild

import (
	"os"
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

// A program is linked once, and what does not build says why.
func TestProgram(t *testing.T) {
	if err := os.MkdirAll("../../bin", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("../../bin", "gobuild-") // on the filesystem of what is kept
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	out, again := filepath.Join(dir, "mongo"), filepath.Join(dir, "again")
	for _, name := range []string{out, again} {
		if err := Program(name, "lab/engine/testdata/mongo"); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.Stat(out)
	second, err2 := os.Stat(again)
	if err != nil || err2 != nil || !os.SameFile(first, second) {
		t.Errorf("the second time it was built anew: %v, %v", err, err2)
	}
	if text, err := exec.Command(out).CombinedOutput(); err == nil || !strings.Contains(string(text), "the stand-in fails") {
		t.Errorf("%v: %s", err, text)
	}
	if err := Program(out, "no/such"); err == nil || !strings.Contains(err.Error(), "no/such") {
		t.Errorf("a package that does not exist: %v", err)
	}
}
