package record

import (
	"os"
	"path/filepath"
	"testing"
)

// What is opened as a record and is none is named, with what to give instead.
func TestWhatIsNoRecord(t *testing.T) {
	top := t.TempDir()
	path := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{path("empty"), path("run")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{path("file"), path("run/" + RunFile)} {
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"nowhere":        "nowhere does not exist. Give the directory of a record",
		"file":           "file is a file. Give the directory of a record",
		"run/" + RunFile: "run/run.json is a file. Give the directory of a record, such as " + path("run"),
		"empty":          "empty holds no record: there is no run.json in it",
	} {
		if _, err := Open(path(name)); err == nil || err.Error() != top+"/"+want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
