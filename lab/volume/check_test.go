package volume

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What does not fit is found before anything is made.
func TestCheckFindsWhatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	disks := record.LabLayout{Disks: 2, DiskSize: mib}
	huge := record.LabLayout{Disks: 2, DiskSize: 1 << 58}
	for _, c := range []struct {
		p    spec.Storage
		l    record.LabLayout
		base string
		says string
	}{
		{spec.Storage{}, record.LabLayout{}, filepath.Join(dir, "none"), ""},
		{spec.Storage{}, disks, filepath.Join(dir, "none", "yet"), ""},
		{spec.Storage{}, huge, filepath.Join(dir, "none", "yet"), "does not fit"},
		{spec.Storage{Dir: dir}, disks, "/none", ""},
		{spec.Storage{Dir: dir}, huge, "/none", dir},
		{spec.Storage{Dir: filepath.Join(dir, "none")}, disks, dir, "Make the directory first"},
		{spec.Storage{Dir: file}, disks, dir, "not a directory"},
	} {
		err := Check(c.p, c.l, 3, c.base)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v, %+v, %s: %v, want %q", c.p, c.l, c.base, err, c.says)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
