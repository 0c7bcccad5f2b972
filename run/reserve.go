package run

import (
	"crypto/rand"
	"os"
)

// reserveBytes is what the last files of a record take at most, but for studies of hundreds of classes.
const reserveBytes = 1 << 20

// reserve is space on the disk of the record, held while the run goes on, so that the record of a run that filled its
// disk still says so. It has no name, so that nothing is left of it however the process ends.
type reserve struct{ f *os.File }

// newReserve takes the space. Where there is none, or where a file needs a name, nothing is held.
func newReserve(dir string) *reserve {
	f, err := os.CreateTemp(dir, ".reserve")
	if err != nil {
		return nil
	}
	content := make([]byte, reserveBytes)
	_, _ = rand.Read(content) // never fails; zeros would take no space on some filesystems
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

// release gives the space back. There may be none.
func (r *reserve) release() {
	if r != nil {
		r.f.Close()
	}
}
