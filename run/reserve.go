package run

import (
	"crypto/rand"
	"os"
)

// reserve is space on the disk of the record during a run, so that the record of a run that fills the disk can still be
// completed. The file has no name, so it is gone however the process ends.
type reserve struct{ f *os.File }

// newReserve returns nil if there is no space, or if the system does not remove open files.
func newReserve(dir string) *reserve {
	f, err := os.CreateTemp(dir, ".reserve")
	if err != nil {
		return nil
	}
	content := make([]byte, 1<<20) // more than the last files of a record, except with hundreds of classes
	_, _ = rand.Read(content)      // never fails; zeros would take no space on some filesystems
	if err = os.Remove(f.Name()); err == nil {
		_, err = f.Write(content)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(f.Name()) // on systems that do not remove open files
		return nil
	}
	return &reserve{f}
}

// release frees the space. r may be nil.
func (r *reserve) release() {
	if r != nil {
		r.f.Close()
	}
}
