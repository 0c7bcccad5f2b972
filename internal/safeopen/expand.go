package safeopen

import (
	"io"
	"io/fs"
	"os"
)

// A file of a few bytes can stand for any number of them: compressed, or with holes. What a file stands for is bounded
// by what it takes. Intervals and samples of real runs are 5 to 30 times as long as they are compressed.
const (
	maxFree  = 32 << 20 // bytes that any file may stand for
	maxRatio = 200      // bytes that it may stand for besides, for each byte that it takes
)

func errExpanded() error {
	return &LimitError{What: "the file", Most: maxRatio, Unit: "bytes for each byte that it takes"}
}

// Expansion bounds what a decompressor makes of its input. Both ends of the decompressor have to be read by one
// goroutine.
type Expansion struct{ packed, unpacked int64 }

// Packed is the input of the decompressor.
func (e *Expansion) Packed(r io.Reader) io.Reader { return &packedReader{e, r} }

// Unpacked is its output. Reading more than the input allows is a [*LimitError].
func (e *Expansion) Unpacked(r io.Reader) io.Reader { return &unpackedReader{e, r} }

type packedReader struct {
	e *Expansion
	r io.Reader
}

func (p *packedReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.e.packed += int64(n)
	return n, err
}

type unpackedReader struct {
	e *Expansion
	r io.Reader
}

func (u *unpackedReader) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if u.e.unpacked += int64(n); u.e.unpacked > maxFree+maxRatio*u.e.packed {
		return 0, errExpanded()
	}
	return n, err
}

// solid returns f, or an error where nearly all of it is holes.
func solid(f *os.File, size int64) (*os.File, error) {
	if size <= maxFree || hasData(f, size, (size-maxFree)/maxRatio) {
		return f, nil
	}
	f.Close()
	return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: errExpanded()}
}
