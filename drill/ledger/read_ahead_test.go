package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

// numbered is a source of n documents of some bytes each, the number in front, which fails after that if it shall.
type numbered struct {
	n, size int
	fails   error
	ended   bool
}

func (s *numbered) Name() string { return FinalRead }

func (s *numbered) Scan(ctx context.Context, _ string, each func(doc []byte) error) error {
	defer func() { s.ended = true }()
	doc := make([]byte, s.size) // used again for each, as a source may
	for i := range s.n {
		copy(doc, fmt.Sprintf("%09d", i))
		if err := each(doc); err != nil {
			return err
		}
	}
	if s.fails != nil {
		return s.fails
	}
	return ctx.Err()
}

// Reading ahead hands over every document, in order and whole, however they fit into chunks.
func TestAhead(t *testing.T) {
	for _, size := range []int{9, 1000, chunkBytes/2 + 1, chunkBytes + 5} {
		broken := errors.New("broken")
		for _, want := range []error{nil, broken} {
			n := 0
			src := &numbered{n: max(40, 3_000_000/size), size: size, fails: want}
			err := ahead(t.Context(), src, "c", func(doc []byte) error {
				if len(doc) != size || !bytes.HasPrefix(doc, fmt.Appendf(nil, "%09d", n)) {
					t.Fatalf("document %d of %d bytes is %.20q", n, size, doc)
				}
				n++
				return nil
			})
			if !errors.Is(err, want) || n != src.n || !src.ended {
				t.Errorf("%d bytes: %d of %d documents, ended %v, %v", size, n, src.n, src.ended, err)
			}
		}
	}
}

// Whoever stops ends the scan too, and it is over when ahead returns.
func TestAheadStops(t *testing.T) {
	enough := errors.New("enough")
	src := &numbered{n: 1 << 30, size: 50_000}
	n := 0
	err := ahead(t.Context(), src, "c", func([]byte) error {
		if n++; n == 100 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !src.ended {
		t.Errorf("%v, ended %v", err, src.ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	src = &numbered{n: 1 << 30, size: 50_000}
	n = 0
	err = ahead(ctx, src, "c", func([]byte) error {
		if n++; n == 100 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !src.ended {
		t.Errorf("%v, ended %v", err, src.ended)
	}
}
