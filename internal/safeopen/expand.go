package safeopen

import (
	"io"
	"io/fs"
	"os"
)

// A compressed file, or one with holes, can expand to any size. Its size on the disk bounds the expanded size.
// Intervals and samples of real runs expand 5 to 30 times.
const (
	maxFree  = 32 << 20 // expanded size of any file
	maxRatio = 200      // further expanded bytes for each byte on the disk
)

func errExpanded() error {
	return &LimitError{What: "the file", Most: maxRatio, Unit: "bytes for each byte on the disk"}
}

// Expansion bounds the output of a decompressor by its input. One goroutine must use both ends of the decompressor.
type Expansion struct{ packed, unpacked int64 }

// Packed is the input of the decompressor.
func (e *Expansion) Packed(r io.Reader) io.Reader { return &packedReader{e, r} }

// Unpacked is the output of the decompressor. Reading more than the input allows is a [*LimitError].
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

// solid returns f, or an error if f is nearly all holes.
func solid(f *os.File, size int64) (*os.File, error) {
	if size <= maxFree || hasData(f, size, (size-maxFree)/maxRatio) {
		return f, nil
	}
	f.Close()
	return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: errExpanded()}
}
