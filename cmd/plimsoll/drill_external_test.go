package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// A deployment that is no lab: somebody else breaks it, and marks the moment with Enter and the end of it with a
// signal. The responder behind the address keeps nothing and returns documents of its own: all that was acknowledged is
// lost, which the drill allows, and the reads are wrong, which no drill allows.
func TestExternalDrill(t *testing.T) {
	t.Parallel()
	server, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "external")
	keyboard, press := io.Pipe()
	defer press.Close()
	var stdout, stderr bytes.Buffer
	env := &environment{args: []string{"drill", server.URI(), "--external", "--duration", "15s", "--rate", "300", "--out", dir, "--expect-loss", "any", "--quiet"},
		stdin: keyboard, stdout: &stdout, stderr: &stderr, getenv: os.Getenv, now: time.Now, width: func() int { return 80 },
		signals: interrupts}
	ended := make(chan int)
	go func() { ended <- mainRun(context.Background(), env) }()
	waitFor(t, "the load goes on", func() bool {
		_, err := os.Stat(filepath.Join(dir, record.RoundsDir, "1", record.EventsFile))
		return err == nil
	})
	waitFor(t, "there are writes before the fault", func() bool {
		s, err := record.ReadStatus(dir)
		return err == nil && s != nil && s.Writes.Acknowledged > 0
	})
	if _, err := press.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first mark is taken", func() bool {
		s, err := record.ReadStatus(dir)
		return err == nil && s != nil && s.Stage().Stage == record.StageBroken
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != exitObjective {
		t.Fatalf("it ended with %d:\n%s\n%s", code, &stdout, &stderr)
	}
	d, err := record.OpenDrill(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := d.Rounds[0]
	if f := r.Faults; len(f) != 1 || f[0].Fault.String() != "external" || !f[0].Hit || f[0].Healed <= f[0].Injected ||
		r.Mode() != "unknown" {
		t.Errorf("the marked fault is %+v", f)
	}
	if r.Ledger == nil || r.Ledger.WrongReads == 0 ||
		r.Ledger.LostWrites() == 0 || r.Ledger.LostWrites() != r.Ledger.Acknowledged ||
		len(r.Ledger.LostRanges) == 0 {
		t.Errorf("the ledger is %+v", r.Ledger)
	}
	if text := stderr.String(); !strings.Contains(text, "press Enter, or send SIGUSR1 to process") ||
		!strings.Contains(stdout.String(), "caused from outside") && !strings.Contains(stdout.String(), "external") {
		t.Errorf("it said\n%s\n%s", text, &stdout)
	}
}

// waitFor looks again and again until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
