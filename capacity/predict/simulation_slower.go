package predict

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/record"
)

// slower is the storage of members that are slower than their primary.
type slower struct {
	syncs   *syncs
	reads   *syncs
	threads int           // that apply writes at once
	lag     time.Duration // flowControlTargetLagSeconds, 0 without flow control
}

// The documented defaults of mongod's parameters replWriterThreadCount and flowControlTargetLagSeconds. Writes are
// limited from half of that lag (flowControlThresholdLagPercentage).
const (
	applyThreads  = 16
	targetLag     = 10 * time.Second
	thresholdPart = 2
)

func (m *deploymentModel) slowerOf(p *record.Probe) (*slower, error) {
	s, err := syncsOf(p, m.out.Engine)
	if err != nil {
		return nil, fmt.Errorf("the second probe: %w", err)
	}
	settings := m.base.Run.Target.Settings
	threads, _ := strconv.Atoi(settings["replWriterThreadCount"])
	out := &slower{syncs: s, reads: readsOf(p), threads: cmp.Or(max(0, threads), applyThreads)}
	if m.out.Engine == "mongod" && settings["enableFlowControl"] != "false" && !before42(m.base.Run.Target.Version) {
		out.lag = targetLag
		if n, err := strconv.ParseFloat(settings["flowControlTargetLagSeconds"], 64); err == nil && n > 0 && n < 1e6 {
			out.lag = time.Duration(n * float64(time.Second))
		}
	}
	return out, nil
}

// before42 reports whether a mongod has no flow control, which came with 4.2.
func before42(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return n == 2 && (major < 4 || major == 4 && minor < 2)
}

func (s *slower) target() time.Duration {
	if s == nil {
		return 0
	}
	return s.lag
}

// slow adds slower members to a shard. What one of them does at once is a batch: it reads the pages of the writes that
// are not in its cache, with its threads, and syncs once. A batch is at most as large as the largest of the probe,
// because the time of a larger one is not known. The simulated time is several times that in which flow control acts.
func (m *deploymentModel) slow(shard *simulate.Shard, s setup) error {
	if s.misses > 0 && m.slower.reads == nil {
		return fmt.Errorf("the second probe has no reads, so the time of a page that is not in the cache is unknown: probe with the profile random")
	}
	x := m.slower
	shard.Slower, shard.Batch = s.slower, max(1, int(x.syncs.batches[len(x.syncs.batches)-1]))
	shard.SlowSync = func(r *rand.Rand, commits int) time.Duration {
		took := x.syncs.sample(r, commits)
		pages := 0
		for range commits {
			pages += int(s.misses)
			if r.Float64() < s.misses-float64(int(s.misses)) {
				pages++
			}
		}
		for ; pages > 0; pages -= x.threads {
			took += x.reads.sample(r, min(pages, x.threads))
		}
		return took
	}
	shard.Time = 10 * cmp.Or(x.lag, targetLag)
	if x.lag > 0 {
		shard.Flow = &simulate.Flow{Threshold: x.lag / thresholdPart}
	}
	return nil
}
