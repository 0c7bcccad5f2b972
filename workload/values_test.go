package workload

import (
	"bytes"
	"compress/flate"
	"testing"
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

// The share of a value that deflate removes is the compressibility, within what headers and the coding
// of the runs cost.
func TestCompressibilityIsWhatACompressorFinds(t *testing.T) {
	for _, share := range []float64{0, 0.25, 0.5, 0.9} {
		var r random
		r.seed(7, forRecord, 1)
		var data []byte
		for range 300 {
			data = appendRandomValue(data, 1000, share, &r)
		}
		var out bytes.Buffer
		z, err := flate.NewWriter(&out, 6)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		removed := 1 - float64(out.Len())/float64(len(data))
		if removed < share-0.02 || removed > share+0.02 {
			t.Errorf("compressibility %v: deflate removed %.3f", share, removed)
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
