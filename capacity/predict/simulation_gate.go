package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// deploymentModel is the model of a single server, and what members, routers and misses add to it.
type deploymentModel struct {
	*engineModel
	syncs   *syncs
	base    Calibration // of one worker
	hops    map[int]difference
	routers *difference
	reads   *syncs // of the probe's random reads, by the number at once
	slower  *slower
	// checkpoints are nil if it is not known what they do, and then unknown says why.
	checkpoints *checkpoints
	unknown     error
	held        []Calibration
}

// difference draws by how much the times of one distribution are longer than those of another, at the same share.
type difference struct{ more, less draws }

func (d *difference) draw(r *rand.Rand) time.Duration {
	u := r.Float64()
	return max(0, d.more.at(u)-d.less.at(u))
}

// newDeploymentModel divides the runs. Those on a filesystem in memory calibrate: a single server the engine, sets of
// members and routers what these add. All others are held against the simulation.
// With other, a second probe is that of slower members.
func newDeploymentModel(e *Evidence, other bool) (*deploymentModel, error) {
	m := &deploymentModel{hops: map[int]difference{}}
	var single, more []Calibration
	for _, c := range e.Runs {
		s, _ := setupOf(&c)
		switch alone := s.members == 1 && !s.router; {
		case c.Run.Scheduled || !c.inMemory():
			m.held = append(m.held, c)
		case alone:
			single = append(single, c)
		default:
			more = append(more, c)
		}
	}
	switch n := len(e.Probes); {
	case other && n != 2:
		return nil, fmt.Errorf("%d of the records are probes: give that of the primary's storage first, and then that of the slower members, with the profile journal", n)
	case !other && n != 1:
		return nil, fmt.Errorf("%d of the records are probes: give the one of the storage, with the profile journal", n)
	}
	var err error
	if m.engineModel, err = newEngineModel(&record.ProbePrediction{}, single); err != nil {
		return nil, err
	}
	if m.syncs, err = syncsOf(e.Probes[0], m.out.Engine); err != nil {
		return nil, err
	}
	m.base = single[slices.IndexFunc(single, func(c Calibration) bool { return c.phase().Workers == 1 })]
	m.reads = readsOf(e.Probes[0])
	if other {
		if m.slower, err = m.slowerOf(e.Probes[1]); err != nil {
			return nil, err
		}
	}
	if m.out.Engine == "mongod" {
		m.checkpoints, m.unknown = m.checkpointsOf(e.Probes[0], single)
	}
	for i := range more {
		if err := m.add(&more[i]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// add reads what members or a router add to the operations of one worker.
func (m *deploymentModel) add(c *Calibration) error {
	s, err := setupOf(c)
	times := c.Summary.Class(m.out.Class)
	switch {
	case err != nil:
		return err
	case s.workers != 1 || times == nil || times.Service.Count() == 0:
		return fmt.Errorf("%s: a calibration of members or a router has one worker that writes: run it with --threads 1", c.Dir)
	case s.members > 1 && s.router:
		return fmt.Errorf("%s: it has members and a router, so it is not known what each of them adds: calibrate them apart", c.Dir)
	}
	d := difference{drawsOf(times.Service), m.writes}
	if s.router {
		m.routers = &d
	} else {
		m.hops[s.members] = d
	}
	return nil
}

// at is the value at a share of the distribution.
func (d *draws) at(u float64) time.Duration {
	if len(d.up) == 0 {
		return 0
	}
	n := int64(u * float64(d.up[len(d.up)-1]))
	i, _ := slices.BinarySearchFunc(d.up, n, func(up, n int64) int {
		if up > n {
			return 1
		}
		return -1
	})
	return time.Duration(d.values[min(i, len(d.values)-1)])
}

// readsOf are the random reads of a probe by their number at once, nil without them.
func readsOf(p *record.Probe) *syncs {
	s := &syncs{}
	for _, step := range p.ProfileSteps(spec.ProbeRandom) {
		h, err := measure.Decode(step.Histograms["latency"])
		if step.Operation != "read" || err != nil || h.Count() == 0 || step.Interrupted {
			continue
		}
		if n := len(s.batches); n > 0 && float64(step.Threads) <= s.batches[n-1] {
			continue
		}
		s.batches, s.times = append(s.batches, float64(step.Threads)), append(s.times, drawsOf(h))
	}
	if len(s.times) == 0 {
		return nil
	}
	return s
}

// setupOf is the setup of a run.
func setupOf(c *Calibration) (s setup, err error) {
	r := c.Run
	s = setup{workers: c.phase().Workers, rate: c.offered(), members: max(1, len(r.Target.Hosts)),
		router: r.Target.Kind == "mongos" || r.Target.Topology == "sharded"}
	if s.router {
		s.members = 1
	}
	if r.Lab != nil {
		s.members = max(1, int(r.Lab.Specification.Topology.Members))
		if n := r.Lab.Specification.Topology.Shards; n > 1 {
			return s, fmt.Errorf("%s: it has %d shards, and one is compared with the simulation of one", c.Dir, n)
		}
	}
	switch w := r.Specification.Durability.Effective().W; w {
	case "majority":
		s.acks = s.members / 2
	case "":
	default:
		n, err := strconv.Atoi(w)
		if err != nil {
			return s, fmt.Errorf("%s: it is not known for how many members w: %s waits", c.Dir, w)
		}
		s.acks = max(0, n-1)
	}
	return s, nil
}

// misses is how many pages an operation of the calibrated workload reads.
func (m *deploymentModel) misses(cache float64, records spec.Count) (float64, error) {
	w := m.base.Run.Specification.Workload
	w.Records = records
	keys, err := capacity.KeysOf(w)
	if err != nil {
		return 0, err
	}
	p, err := keys.Predict(capacity.WiredTiger(cache))
	if p.Misses < leastMisses {
		return 0, err
	}
	return p.Misses, err
}

// leastMisses are simulated: what reads a page in 10,000 operations changes no p99.
const leastMisses = 1e-4

// deploy is the shard of a setup.
func (m *deploymentModel) deploy(s setup) (*simulate.Shard, error) {
	last := m.cpu[len(m.cpu)-1].Workers
	if s.workers > beyond*last || s.workers > beyond*m.syncs.clients {
		return nil, fmt.Errorf("%d workers of a shard are more than twice those of the calibrations (%d) or of the probe (%d): calibrate and probe with more",
			s.workers, last, m.syncs.clients)
	}
	shard := m.shard(m.syncs, s.workers)
	shard.Rate = s.rate
	shard.Tickets = m.tickets()
	if s.members > 1 {
		hop, ok := m.hops[s.members]
		if !ok {
			return nil, fmt.Errorf("no run on a filesystem in memory has %d members and one worker, so it is not known what members add", s.members)
		}
		shard.Copies, shard.Acks, shard.Hop = s.members-1, s.acks, hop.draw
		shard.Shipped = LogOf(m.out.Engine) == spec.LogOverwritten // PostgreSQL sends what it has synced
	}
	if s.slower > 0 {
		if err := m.slow(&shard, s); err != nil {
			return nil, err
		}
	}
	if s.router {
		if m.routers == nil {
			return nil, fmt.Errorf("no run on a filesystem in memory passes a router with one worker, so it is not known what a router adds")
		}
		shard.Router = m.routers.draw
	}
	if s.misses > 0 {
		if m.reads == nil {
			return nil, fmt.Errorf("the probe has no reads, so the time of a page that is not in the cache is unknown: probe with the profile random")
		}
		shard.Misses, shard.Read = s.misses, m.reads.sample
	}
	return &shard, nil
}

// outcome are the simulations of a setup with each block of syncs.
type outcome struct {
	blocks               []simulate.Outcome
	writes               *measure.Histogram // of all
	rate, mean, p50      float64            // medians
	p99, p99Low, p99High float64            // median, lowest and highest
	journal, cores, lag  float64            // medians
	slower               record.SimulationSlower
	checkpoint           float64 // share of the time in which one runs
	model                *deploymentModel
	asked                setup
	checked              []setup // of the gate
}

// simulate simulates a setup with each block of syncs.
func (m *deploymentModel) simulate(s setup) (*outcome, error) {
	shard, err := m.deploy(s)
	if err != nil {
		return nil, err
	}
	o := &outcome{writes: measure.NewHistogram()}
	blocks := m.syncs.blocks()
	shard.Operations = max(10_000, 200*s.workers)
	for i, b := range blocks {
		shard.Sync, shard.Seed = b.sample, uint64(i)
		x := shard.Run()
		if s.checkpoints {
			shard.Sync = m.checkpoints.during(b.sample)
			with := shard.Run()
			var share float64
			if !s.steady(&with) {
				return nil, fmt.Errorf("while a checkpoint runs, a shard does %s/s of %s/s that are offered. What waits then is not simulated",
					figure.Rate(with.Rate), figure.Rate(s.rate))
			}
			x, share = m.checkpoints.mix(&x, &with)
			o.checkpoint += share / float64(len(blocks))
		}
		if err := o.writes.Merge(x.Writes); err != nil {
			return nil, err
		}
		o.blocks = append(o.blocks, x)
	}
	median := func(of func(x *simulate.Outcome) float64) float64 {
		var list []float64
		for i := range o.blocks {
			list = append(list, of(&o.blocks[i]))
		}
		return measure.Median(list)
	}
	quantile := func(q float64) float64 {
		return median(func(x *simulate.Outcome) float64 { return float64(x.Writes.Quantile(q)) })
	}
	o.rate = median(func(x *simulate.Outcome) float64 { return x.Rate })
	o.mean = median(func(x *simulate.Outcome) float64 { return x.Writes.Mean() })
	o.journal = median(func(x *simulate.Outcome) float64 { return x.Journal })
	o.cores = median(func(x *simulate.Outcome) float64 { return x.Cores })
	o.lag = median(func(x *simulate.Outcome) float64 { return float64(x.Lag.Quantile(0.99)) })
	o.slower = record.SimulationSlower{
		Grows:    median(func(x *simulate.Outcome) float64 { return x.Grows }),
		Majority: int64(median(func(x *simulate.Outcome) float64 { return float64(x.Majority) })),
		Limited:  median(func(x *simulate.Outcome) float64 { return x.Limited }), Target: int64(m.slower.target())}
	o.p50, o.p99 = quantile(0.5), quantile(0.99)
	o.p99Low = math.Inf(1)
	for i := range o.blocks {
		p99 := float64(o.blocks[i].Writes.Quantile(0.99))
		o.p99Low, o.p99High = min(o.p99Low, p99), max(o.p99High, p99)
	}
	return o, nil
}

// steady reports whether a shard carries the offered rate. Otherwise the queue grows with the length of the run, and
// its times mean nothing. A journal that always syncs is no limit, because its syncs carry more commits then.
func steady(o *simulate.Outcome, rate float64) bool { return o.Rate > 0.97*rate && o.Cores < 0.95 }

// carries reports whether all blocks carry the offered rate.
func (o *outcome) carries(s setup) bool {
	return !slices.ContainsFunc(o.blocks, func(x simulate.Outcome) bool { return !s.steady(&x) })
}

// steady reports whether a shard carries the rate of an open load.
func (s setup) steady(o *simulate.Outcome) bool { return s.rate == 0 || steady(o, s.rate) }

// tickets are those of the server, as it reported them; 0 if it did not.
func (m *deploymentModel) tickets() int {
	sum := 0.0
	for _, s := range m.base.Run.Series {
		if s.Name == "tickets.write.out" || s.Name == "tickets.write.available" {
			sum += s.Mean
		}
	}
	return int(math.Round(sum))
}

// check compares the held runs with their simulation, and returns the setups of those that it compared.
func (m *deploymentModel) check(out *record.Simulation) (checked []setup) {
	groups := map[setup][]Calibration{}
	for _, c := range m.held {
		s, err := setupOf(&c)
		if err == nil {
			err = m.comparable(&c)
		}
		if err == nil {
			s.misses, err = m.missesOf(&c)
		}
		s.checkpoints = m.checkpoints != nil && c.phase().Seconds >= m.checkpoints.every.Seconds()
		if err == nil {
			_, err = m.deploy(s)
		}
		if err != nil {
			out.LeftOut = append(out.LeftOut, c.Dir+": "+strings.TrimPrefix(err.Error(), c.Dir+": "))
			continue
		}
		groups[s] = append(groups[s], c)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b setup) int {
		return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(a.workers, b.workers), cmp.Compare(a.members, b.members),
			cmp.Compare(a.acks, b.acks), cmp.Compare(a.misses, b.misses), strings.Compare(a.String(), b.String()))
	})
	for _, s := range order {
		o, err := m.simulate(s)
		if err != nil { // deploy said above that it is possible, but not with checkpoints
			out.LeftOut = append(out.LeftOut, groups[s][0].Dir+": "+err.Error())
			continue
		}
		out.Checks, checked = append(out.Checks, m.compare(s, o, groups[s])...), append(checked, s)
	}
	return checked
}

// comparable says why a run is not of the calibrated engine and workload.
func (m *deploymentModel) comparable(c *Calibration) error {
	a, b := c.Run, m.base.Run
	class := c.Summary.Class(m.out.Class)
	switch {
	case measure.Worst(a.Validity) == measure.Invalid:
		return fmt.Errorf("it is invalid")
	case a.Target.Kind != m.out.Engine && a.Target.Kind != "mongos":
		return fmt.Errorf("its target is %s, and the calibrations are of %s", a.Target.Kind, m.out.Engine)
	case a.Specification.Workload.Name != b.Specification.Workload.Name:
		return fmt.Errorf("it is workload %s, and the calibrations are of %s", a.Specification.Workload.Name, b.Specification.Workload.Name)
	case !journaled(a):
		return fmt.Errorf("its writes do not wait for the journal")
	case class == nil || class.Service.Count() == 0:
		return fmt.Errorf("it has no %s", m.out.Class)
	case c.phase().Workers < 1 || !(c.phase().Rates.Achieved > c.offered()/2):
		return fmt.Errorf("it did less than half of what it was offered, so its times depend on its length")
	case a.Lab != nil && a.Lab.Specification.Hosts.Cores > 0:
		return fmt.Errorf("it limits the cores of its hosts. That is not simulated")
	}
	return nil
}

// journaled reports whether writes of a run wait for the journal, by themselves or by the configuration of the set.
func journaled(r *record.Run) bool {
	d := r.Specification.Durability.Effective()
	if d.Journal != nil {
		return *d.Journal
	}
	return d.W == "majority" && r.Target.Settings["replica-set.writeConcernMajorityJournalDefault"] == "true"
}

// missesOf is how many pages an operation of a run reads, by its cache and documents.
func (m *deploymentModel) missesOf(c *Calibration) (float64, error) {
	cache, err := strconv.ParseFloat(c.Run.Target.Settings["wiredTiger cache bytes"], 64)
	if err != nil || !(cache > 0) {
		return 0, c.dataFit()
	}
	return m.misses(cache, c.Run.Specification.Workload.Records)
}

// compare compares runs of one setup: the geometric mean of their throughput, and the p99 of all their writes together
// if they have enough values for one.
func (m *deploymentModel) compare(s setup, o *outcome, runs []Calibration) []record.SimulationCheck {
	c := record.SimulationCheck{Setup: s.String(), Metric: record.CheckThroughput, Simulated: o.rate}
	var all *measure.Histogram
	c.Records, c.Measured, all = pooled(runs, m.out.Class)
	list := []record.SimulationCheck{judged(c, rateLimit)}
	if all.Enough(0.99) && o.carries(s) {
		c.Metric, c.Simulated, c.Measured = record.CheckP99, o.p99, float64(all.Quantile(0.99))
		list = append(list, judged(c, p99Limit))
	}
	return list
}

// offered is the rate of an open load, 0 of a closed one.
func (c *Calibration) offered() float64 {
	if !c.Run.Scheduled {
		return 0
	}
	return float64(c.Run.Specification.Load.Rate)
}

// times are the times of a class: of an open load from when operations were due.
func (c *Calibration) times(class string) *measure.Histogram {
	x := c.Summary.Class(class)
	if c.Run.Scheduled {
		return x.Response
	}
	return x.Service
}

func judged(c record.SimulationCheck, limit float64) record.SimulationCheck {
	c.Error, c.Limit = c.Simulated/c.Measured-1, limit
	c.Holds = math.Abs(c.Error) <= limit
	return c
}
