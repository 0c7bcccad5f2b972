package serve

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// A picture that takes long is made seldom, so that following never takes more than a small part of a core.
func TestPicturesThatTakeLongAreMadeSeldom(t *testing.T) {
	made := time.Unix(1000, 0)
	for took, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Second, 100 * time.Millisecond: 6 * time.Second, 3 * time.Second: 3 * time.Minute,
	} {
		p := picture{made: made, took: took}
		if !p.fresh(made.Add(want-1), restFor) || p.fresh(made.Add(want), restFor) {
			t.Errorf("a picture that took %v is not made again after %v", took, want)
		}
		if share := took.Seconds() / (took + want).Seconds(); share > 0.02 {
			t.Errorf("pictures of %v take %.3f of a core", took, share)
		}
	}
}

func TestPicturesAreMadeOnceForAll(t *testing.T) {
	dir := t.TempDir()
	where := filepath.Join(dir, "r")
	made(t, where, recordtest.Run{})
	p := newPages(Options{Tool: record.Tool{}})
	a, err := p.of("x", where)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.of("x", where); err != nil || a != b {
		t.Errorf("the same record was made into a picture twice (%v)", err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(where, record.RunFile), later, later); err != nil {
		t.Fatal(err)
	}
	if b, err := p.of("x", where); err != nil || a == b {
		t.Errorf("a record that has changed is shown as it was (%v)", err)
	}
	for i := range 10 { // what does not fit any longer is forgotten, but never what was just made
		k := p.place(string(rune('a' + i)))
		p.forget(k, maxKept/4)
		if p.kept[string(rune('a'+i))] != k || len(p.kept) > 5 {
			t.Fatalf("%d pictures are kept", len(p.kept))
		}
	}
}
