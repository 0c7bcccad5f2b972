package lab

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A member is read for as long as somebody reads, also if that somebody does not say that it is over.
func TestAMemberIsReadWhileSomebodyReads(t *testing.T) {
	l := upFake(t, nil)
	open := func(want int64) {
		t.Helper()
		for limit := time.Now().Add(10 * time.Minute); l.c.readings.Load() != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%d readings are open, want %d", l.c.readings.Load(), want)
			}
		}
	}
	r, err := l.h.ReadMember(t.Context(), "rs0-2")
	if err != nil || r.URI != "mongodb://reader/rs0-2" || r.Behind != 42 {
		t.Fatalf("%+v, error %v", r, err)
	}
	open(1)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.h.ReadMember(ctx, "rs0-1"); err != nil {
		t.Fatal(err)
	}
	open(2)
	cancel()
	open(1)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	open(0)
	for _, member := range []string{"rs0-9", ""} {
		if _, err := l.h.ReadMember(t.Context(), member); !errors.Is(err, ErrRefused) {
			t.Errorf("reading %q: %v", member, err)
		}
	}
}
