package suite

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe among the files of a folder has no writer: whoever opened it would wait for ever.
func TestFolderWithAPipeIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte("name: x\nparts: [{study: pipe.yaml}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("got error %v, want that it is not a file", err)
	}
}
