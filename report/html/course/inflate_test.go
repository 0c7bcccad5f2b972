package course

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"testing"
)

// packed is a zlib stream of a text at a level of compression, in several blocks if flushed.
func packed(t testing.TB, text []byte, level int, flushed bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	for part := range partsOf(text, flushed) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if flushed {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func partsOf(text []byte, flushed bool) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if flushed {
			if !yield(text[:len(text)/3]) {
				return
			}
			text = text[len(text)/3:]
		}
		yield(text)
	}
}

// texts are of every kind that the format has something of its own for: nothing, one letter, few and many letters, so
// skewed that codes grow long, repetitions near and far, noise.
func texts(r *rand.Rand) map[string][]byte {
	list := map[string][]byte{"nothing": {}, "one": {7}, "run": bytes.Repeat([]byte{'a'}, 5000), "pairs": bytes.Repeat([]byte("ab"), 700)}
	noise, skewed, counts := make([]byte, 40_000), make([]byte, 60_000), make([]byte, 600)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for i := range skewed {
		for skewed[i] = 'A'; r.IntN(2) == 0 && skewed[i] < 255; skewed[i]++ {
		}
	}
	for i := range counts {
		counts[i] = byte(r.IntN(1 + r.IntN(40)))
	}
	list["noise"], list["skewed"], list["counts"] = noise, skewed, counts
	list["far"] = append(append(bytes.Clone(noise[:300]), skewed[:32_000]...), noise[:300]...)
	return list
}

func TestInflate(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var f inflater
	out := make([]byte, 1<<17)
	for name, text := range texts(rand.New(rand.NewPCG(seed, 1))) {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
			for _, flushed := range []bool{false, true} {
				stream := packed(t, text, level, flushed)
				if n, err := f.inflate(stream, out); err != nil || !bytes.Equal(out[:n], text) {
					t.Fatalf("%s at level %d (flushed %v): %d of %d bytes, %v", name, level, flushed, n, len(text), err)
				}
				if _, err := f.inflate(stream, out[:max(0, len(text)-1)]); len(text) > 0 && err == nil {
					t.Errorf("%s at level %d does not fit, and was taken", name, level)
				}
				for _, cut := range []int{1, 4, 5, len(stream) / 2} {
					if _, err := f.inflate(stream[:len(stream)-cut], out); err == nil {
						t.Errorf("%s at level %d without its last %d bytes was taken", name, level, cut)
					}
				}
			}
		}
	}
}

// FuzzInflate holds what is unpacked against the general reader, for whole and for damaged streams.
func FuzzInflate(f *testing.F) {
	for _, text := range texts(rand.New(rand.NewPCG(1, 2))) {
		for _, level := range []int{0, 1, 9} {
			f.Add(packed(f, text[:min(len(text), 2000)], level, level == 1))
		}
	}
	var one inflater
	out := make([]byte, 1<<16)
	f.Fuzz(func(t *testing.T, stream []byte) {
		n, err := one.inflate(stream, out)
		want, werr := general(stream)
		switch {
		case len(want) > len(out):
		case (err == nil) != (werr == nil):
			t.Errorf("ours says %v, the general one %v", err, werr)
		case err == nil && !bytes.Equal(out[:n], want):
			t.Errorf("%d bytes, the general one has %d", n, len(want))
		}
	})
}

func general(stream []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, 1<<17))
}
