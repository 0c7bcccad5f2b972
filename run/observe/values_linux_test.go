package observe

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// A pipe cannot be a file of values, because each reading opens it again. It is refused before the load, without a
// wait.
func TestValuesAreNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		if _, err := NewValueFile(path, 0); !errors.Is(err, safeopen.ErrNotRegular) {
			t.Errorf("%s: %v, want that it is not regular", path, err)
		}
	}
}
