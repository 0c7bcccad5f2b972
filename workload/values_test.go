package workload

import (
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

func TestYCSBValuesFollowTheMasks(t *testing.T) {
	masks := [6]byte{31, 63, 95, 31, 63, 95}
	var seen [6][256]bool
	var r random
	r.seed(1, forRecord, 1)
	for n := range 200 {
		v := appendYCSBValue([]byte("abc"), n, &r)
		if len(v) != n+3 || string(v[:3]) != "abc" {
			t.Fatalf("length %d: got %d bytes beginning with %q", n, len(v)-3, v[:3])
		}
		for i, c := range v[3:] {
			if (c-32)&^masks[i%6] != 0 {
				t.Fatalf("byte %d of %d is %d, which the mask %d does not allow", i, n, c, masks[i%6])
			}
			seen[i%6][c] = true
		}
	}
	for k, mask := range masks {
		for c := range 256 {
			if possible := c >= 32 && byte(c-32)&^mask == 0; possible && !seen[k][c] {
				t.Errorf("place %d never has the byte %d", k, c)
			}
		}
	}
}

func TestSixBytes(t *testing.T) {
	for b, want := range map[uint32]string{
		0:          "      ",
		0xffffffff: "?_\x7f?_\x7f",
		1:          "!     ",
		1 << 5:     " !    ",
		1 << 31:    "     `", // the sign bit of Java's int
	} {
		u := sixBytes(b)
		var got []byte
		for k := range 6 {
			got = append(got, byte(u>>(8*k)))
		}
		if string(got) != want {
			t.Errorf("%#x makes %q, want %q", b, got, want)
		}
	}
}

// The share of a value that a compressor removes is at most the compressibility, also with a window over all values,
// and not much less: zstd removes it within three points, snappy, with three bytes for 64 equal ones, within nine.
func TestCompressibilityIsWhatACompressorFinds(t *testing.T) {
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(16<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{100, 1000} {
		for _, share := range []float64{0, 0.25, 0.5, 0.9} {
			var r random
			r.seed(7, forRecord, 1)
			var data []byte
			for len(data) < 1<<20 {
				data = appendRandomValue(data, size, share, &r)
			}
			quick, pages := 0, 0 // in blocks of 32 KiB, as pages of WiredTiger
			for at := 0; at < len(data); at += 32 << 10 {
				block := data[at:min(at+32<<10, len(data))]
				quick += len(snappy.Encode(nil, block))
				pages += len(z.EncodeAll(block, nil))
			}
			for name, c := range map[string]struct {
				bytes int
				loss  float64
			}{"snappy": {quick, 0.09}, "zstd": {pages, 0.03}, "zstd, long window": {len(z.EncodeAll(data, nil)), 0.03}} {
				removed := 1 - float64(c.bytes)/float64(len(data))
				if removed < share-c.loss || removed > share+0.001 {
					t.Errorf("values of %d, compressibility %v: %s removed %.3f", size, share, name, removed)
				}
			}
		}
	}
}

// The golden value was computed with Java and is also found in the data of projects that use YCSB. The
// hash covers the colon in front of it.
func TestIntegrityValue(t *testing.T) {
	const want = "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039977118:-10"
	got := appendIntegrityValue(nil, []byte("user6284781860667377211"), "field0", 100)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if short := appendIntegrityValue([]byte("x"), []byte("user1"), "field0", 3); string(short) != "xuse" {
		t.Errorf("cut to 3 bytes: %q", short)
	}
}
