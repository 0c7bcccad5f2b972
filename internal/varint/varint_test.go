package varint

import (
	"encoding/binary"
	"testing"
)

func TestReader(t *testing.T) {
	b := binary.AppendUvarint(nil, 300)
	b = binary.AppendVarint(b, -7)
	b = append(binary.AppendUvarint(b, 2), "xyz"...)
	r := Reader{B: b}
	if r.Get(300) != 300 || r.Signed() != -7 || string(r.Take(r.Get(9))) != "xy" || string(r.B) != "z" || r.Bad {
		t.Errorf("what was written is read as %+v", r)
	}
	for what, read := range map[string]func(*Reader){
		"a number that is too large": func(r *Reader) { r.Get(299) },
		"more bytes than there are":  func(r *Reader) { r.Take(100) },
		"a lie about a number":       func(r *Reader) { r.Fits(100) },
	} {
		r := Reader{B: b}
		if read(&r); !r.Bad || len(r.B) != 0 || r.Get(9) != 0 || r.Signed() != 0 || r.Take(1) != nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// No data make the reader panic, and an append to taken bytes does not overwrite the data.
func FuzzReader(f *testing.F) {
	f.Add([]byte{2, 0xff, 0x80, 1, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := Reader{B: b}
		for len(r.B) > 0 && !r.Bad {
			r.Signed()
			if out := r.Take(r.Get(8)); cap(out) != len(out) {
				t.Fatalf("%d bytes have room for %d", len(out), cap(out))
			}
		}
	})
}
