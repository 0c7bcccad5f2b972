package faultfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who cannot serve disks is told why and what to do, before a directory is made.
func TestAble(t *testing.T) {
	there := filepath.Join(t.TempDir(), "fuse")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		uid          int
		device, want string
	}{
		{0, there, ""},
		{1000, there, "needs root"},
		{0, there + "-not", "modprobe fuse"},
	} {
		err := checkSupport(c.uid, c.device)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("user %d, %s: error %v, want one with %q", c.uid, c.device, err, c.want)
		}
	}
}
