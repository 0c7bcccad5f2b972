package simulate

import (
	"math/rand/v2"
	"testing"
	"time"
)

// behind is a set of three whose primary does 800 writes per second without them (8 workers, 10 ms), and of whose
// members so many sync 400 per second: 4 at once, in 10 ms.
func behind(slower int, f *Flow) Shard {
	sync := func(took time.Duration) func(*rand.Rand, int) time.Duration {
		return func(*rand.Rand, int) time.Duration { return took }
	}
	return Shard{Workers: 8, Cores: 4, Writes: 1, Copies: 2, Operations: 1000, Seed: 21, Software: software(0, 0, 0),
		Hop: func(*rand.Rand) time.Duration { return ms }, Sync: sync(5 * ms), Slower: slower, SlowSync: sync(10 * ms),
		Batch: 4, Flow: f, Time: 100 * time.Second}
}

// Members that sync slower than the primary writes fall behind by the difference of their rates.
func TestLagGrows(t *testing.T) {
	o := behind(1, nil).Run()
	near(t, "rate", o.Rate, 800, 0.01)
	near(t, "growth", o.Grows, 1-400.0/800, 0.02)
	near(t, "lag", o.Behind.Seconds(), 200*(1-400.0/800), 0.02)
}

// Flow control slows the primary down to the member that a majority needs, and the lag of the majority stays at its
// threshold. One slow member of three is in no majority, so it falls behind for good.
func TestFlowControl(t *testing.T) {
	f := &Flow{Threshold: 5 * time.Second}
	o := behind(2, f).Run()
	near(t, "rate", o.Rate, 400, 0.10) // its steps of a second make the members idle at times
	if o.Majority < 5*time.Second || o.Majority > 10*time.Second {
		t.Errorf("the majority is %v behind, want the threshold of 5 s to the target of 10 s", o.Majority)
	}
	if o.Grows > 0.02 || o.Limited < 0.2 || o.Limited > 0.999 {
		t.Errorf("the lag grows by %g, limited for %g of the time", o.Grows, o.Limited)
	}
	if one := behind(1, f).Run(); one.Limited > 0 || one.Rate < 790 || one.Grows < 0.45 {
		t.Errorf("one slow member: %g/s, lag grows by %g, limited for %g of the time", one.Rate, one.Grows, one.Limited)
	}
	even := behind(0, f).Run()
	near(t, "rate without slow members", even.Rate, 800, 0.01)
	if even.Limited > 0 || even.Behind > time.Second {
		t.Errorf("without slow members: limited for %g, %v behind", even.Limited, even.Behind)
	}
}
