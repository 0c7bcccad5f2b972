package run

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestTellIfSlow(t *testing.T) {
	for took, want := range map[time.Duration]int{0: 0, 2*time.Second - 1: 0, 2*time.Second + 1: 1, time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			TellIfSlow(func() { told++ }, func() { time.Sleep(took) })
			if told != want {
				t.Errorf("after %v it was told %d times, want %d", took, told, want)
			}
		})
	}
}

// teller ends a run when it says what it waits for.
type teller struct {
	silent
	end  func()
	said string
}

func (w *teller) Step(text string) {
	if strings.Contains(text, "has not answered") {
		w.said = text
		w.end()
	}
}

// A target that nobody answers at is waited for, and the user is told so long before the timeout.
func TestWaitingForTargetIsTold(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // no test of another package listens there meanwhile
	for _, client := range []string{ClientWire, ClientDriver} {
		ctx, end := context.WithCancel(t.Context())
		w := &teller{end: end}
		asked := small("", func(s *spec.Run) {
			s.Target, s.Client, s.Load.Timeout = "mongodb://user:secret@"+address+"/", client, spec.Duration(time.Hour)
		})
		if _, err := Execute(ctx, asked, Options{Dir: t.TempDir(), Progress: w}); err == nil {
			t.Errorf("%s: nobody listens, and there is no error", client)
		}
		if !strings.Contains(w.said, address) || !strings.Contains(w.said, "1h") || strings.Contains(w.said, "secret") {
			t.Errorf("%s: told %q", client, w.said)
		}
		end()
	}
}
