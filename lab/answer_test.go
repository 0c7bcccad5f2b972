package lab

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
)

// slowVolume answers at a time, and looks failed until then.
type slowVolume struct {
	volume.Volume
	at   time.Time
	dead bool // what it answers
}

func (v slowVolume) Describe(context.Context, bool) record.LabVolume {
	if v.dead || time.Now().Before(v.at) {
		return record.LabVolume{Health: "failed"}
	}
	return record.LabVolume{Health: healthy}
}

func (v slowVolume) Answers(ctx context.Context) bool {
	select {
	case <-time.After(time.Until(v.at)):
		return !v.dead
	case <-ctx.Done():
		return false
	}
}

// A filesystem that is slow, as on a busy machine, has not failed; one that says so has, at once, and one that never
// answers has when its time is over.
func TestSlowIsNotGivenUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers time.Duration
		dead    bool
		want    bool
		after   time.Duration
	}{
		{"healthy", 0, false, false, 0},
		{"slow", answerLimit / 2, false, false, answerLimit / 2},
		{"shut down", 0, true, true, 0},
		{"slow and shut down", time.Second, true, true, time.Second},
		{"silent", 100 * answerLimit, false, true, answerLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := hasFailed(t.Context(), slowVolume{at: began.Add(c.answers), dead: c.dead})
				if took := time.Since(began); got != c.want || took != c.after {
					t.Errorf("failed: %v after %v, want %v after %v", got, took, c.want, c.after)
				}
			})
		})
	}
}
