package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func about(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got/want-1) > tolerance {
		t.Errorf("%s is %v, want %v within %g", what, got, want, tolerance)
	}
}

// Inserts per second that were measured on a mongod whose disk syncs in a fixed time, by clients. Half of the clients
// share a sync.
func TestGroupCommitAgainstMongod(t *testing.T) {
	g := GroupCommit{Sync: 5460 * time.Microsecond}
	for clients, measured := range map[float64]float64{2: 184, 4: 364, 8: 698, 16: 1395, 32: 2693} {
		about(t, fmt.Sprintf("the rate of %v clients", clients), g.Ceiling(clients/2), measured, 0.09)
	}
	// With 64 clients the cores were the limit, which the model does not know.
	if got := g.Ceiling(32); got < 4733*1.1 {
		t.Errorf("64 clients: the model has %v/s, want more than the measured 4,733/s", got)
	}
}

func TestGroupCommitOfUnevenDisks(t *testing.T) {
	even := GroupCommit{Sync: 2 * time.Millisecond}
	if got := even.OpenLatency(1e6); got != 3*time.Millisecond {
		t.Errorf("many independent clients wait %v, want one and a half syncs", got)
	}
	if got := even.OpenLatency(0); got != even.Sync {
		t.Errorf("a client that comes alone waits %v, want one sync", got)
	}
	// Nine syncs in ten take 0.2 ms and one 97 ms: the mean is 9.9 ms, and 95 % of the time is spent in the slow ones.
	mean, square := 0.9*0.0002+0.1*0.097, 0.9*0.0002*0.0002+0.1*0.097*0.097
	uneven := GroupCommit{Sync: time.Duration(mean * 1e9), Square: square}
	about(t, "the mean on an uneven disk", uneven.OpenLatency(1e6).Seconds(), 0.0575, 0.02)
	if n := even.Clients(1000); n != 4 {
		t.Errorf("1,000 commits/s need %d clients", n)
	}
	if n := even.Clients(400); n != 1 {
		t.Errorf("400 commits/s need %d clients", n)
	}
	about(t, "the ceiling", even.Ceiling(32), 16000, 1e-9)
}

// Mean and quantiles of independent clients against a flusher that is simulated, event by event.
func TestGroupCommitAgainstSimulation(t *testing.T) {
	g := GroupCommit{Sync: 2 * time.Millisecond}
	for _, rate := range []float64{5, 50, 200, 500, 2000, 20000} {
		r := rand.New(rand.NewPCG(3, uint64(rate)))
		const n, s = 100_000, 0.002
		times := make([]float64, 0, n)
		arrival, end := 0.0, 0.0 // end of the sync that runs, or ran last
		var waiting []float64    // who wait for the next sync
		sum := 0.0
		done := func(at float64) {
			for _, w := range waiting {
				times, sum = append(times, at-w), sum+at-w
			}
			waiting = waiting[:0]
		}
		for len(times) < n {
			arrival += r.ExpFloat64() / rate
			for len(waiting) > 0 && end <= arrival { // their sync began when the last one ended
				end += s
				done(end)
			}
			if end <= arrival { // the disk is idle
				end = arrival + s
				times, sum = append(times, s), sum+s
				continue
			}
			waiting = append(waiting, arrival)
		}
		about(t, fmt.Sprintf("the mean at %v/s", rate), sum/float64(len(times)), g.OpenLatency(rate).Seconds(), 0.02)
		slices.Sort(times)
		for _, q := range []float64{0.5, 0.9, 0.99} {
			about(t, fmt.Sprintf("the quantile %v at %v/s", q, rate), times[int(q*float64(len(times)))], g.Quantile(rate, q).Seconds(), 0.04)
		}
	}
}
