package predict

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Calibration is a run of an engine with durable writes on storage that costs nothing, such as a filesystem in memory.
// It shows the time of an operation apart from its sync.
type Calibration struct {
	Dir     string
	Run     *record.Run
	Summary *measure.Summary // of the measured phase
}

// OpenCalibration reads a run with its histograms.
func OpenCalibration(dir string) (c Calibration, err error) {
	if c.Run, err = record.OpenRun(dir); err != nil {
		return c, err
	}
	if c.Summary, err = record.RebuildSummary(dir, "measure"); err != nil {
		return c, err
	}
	if c.Summary == nil || c.phase() == nil {
		return c, fmt.Errorf("%s: the run has no measured phase", dir)
	}
	c.Dir = dir
	return c, nil
}

func (c *Calibration) phase() *record.PhaseResult { return c.Run.Phase("measure") }

// LogOf is how an engine writes its journal, "" if that is unknown.
func LogOf(engine string) string {
	switch engine {
	case "embedded":
		return spec.LogGrowing
	case "ferretdb", "documentdb":
		return spec.LogOverwritten
	case "mongod":
		return spec.LogReserved
	}
	return ""
}

// RecordBytes is the size of what the engine writes to its journal for a durable write: what the server counted, or
// without a count the size of a document.
func (c *Calibration) RecordBytes() (int64, error) {
	w := c.Run.Specification.Workload
	_, writes, err := capacity.Shares(w)
	if err != nil {
		return 0, err
	}
	for _, s := range c.Run.Series {
		if s.Name == "log.written_bytes" && s.PerOperation != nil && *s.PerOperation > 0 && writes > 0 {
			return int64(math.Ceil(*s.PerOperation / writes)), nil
		}
	}
	keys, err := capacity.KeysOf(w)
	return int64(keys.DocBytes), err
}

// engineModel is what calibrations say about an engine.
type engineModel struct {
	out    *record.ProbePrediction
	cpu    []record.ProbeCalibration // by workers
	think  time.Duration             // between the answer and the next operation of a worker
	share  float64                   // of the time of an operation that one worker computes
	writes draws
	reads  draws
	mean   float64 // time of an operation of one worker, in ns
}

// Disk predicts durable writes of the calibrated engine on the probed storage for numbers of workers.
//
// An operation of one worker without a sync takes a time that is drawn from the calibration with one worker. A part of
// it needs a core: its processor time. With more workers, that part is what makes them as slow as they were without
// syncs. A durable write then waits for the journal, whose syncs take times that are drawn from the probe: from the
// step whose syncs carried as many commits.
func Disk(p *record.Probe, calibrations []Calibration, workers []int) *record.ProbePrediction {
	out := &record.ProbePrediction{Calibrations: []record.ProbeCalibration{}, Points: []record.ProbePredicted{}}
	m, err := newEngineModel(out, calibrations)
	if err == nil {
		var s *syncs
		if s, err = syncsOf(p, out.Engine); err == nil {
			err = m.predict(s, workers)
		}
	}
	if err != nil {
		out.Refused = err.Error()
	}
	return out
}

// beyond is how many times more workers are predicted than were calibrated and probed.
const beyond = 2

func (m *engineModel) predict(s *syncs, workers []int) error {
	last := m.cpu[len(m.cpu)-1].Workers
	for _, n := range workers {
		if n > beyond*last || n > beyond*s.clients {
			continue
		}
		o := simulate.Server{Workers: n, Cores: m.out.Cores, Writes: m.out.Writes, Software: m.software(n), Sync: s.sample,
			Operations: max(20_000, 500*n), Seed: 1}.Run()
		if o.Writes.Count() == 0 {
			continue
		}
		m.out.Points = append(m.out.Points, record.ProbePredicted{Workers: n, Rate: o.Rate, Mean: o.Writes.Mean(),
			P50: o.Writes.Quantile(0.5), P99: o.Writes.Quantile(0.99), Journal: o.Journal, CPU: o.Cores, Batch: o.Batch})
	}
	if len(m.out.Points) == 0 {
		return fmt.Errorf("the calibration has %s and the probe %s, so more than twice as many are not predicted: calibrate and probe with more",
			figure.Plural(last, "worker"), figure.Plural(s.clients, "client"))
	}
	return nil
}

// newEngineModel reads the calibrations.
func newEngineModel(out *record.ProbePrediction, list []Calibration) (*engineModel, error) {
	m := &engineModel{out: out}
	for i := range list {
		c := &list[i]
		if err := c.usable(); err != nil {
			return nil, err
		}
		if i == 0 {
			if err := m.describe(c); err != nil {
				return nil, err
			}
		} else if a, b := setting(list[0].Run), setting(c.Run); a != b {
			return nil, fmt.Errorf("the calibrations are of different things: %s has %s, and %s has %s", list[0].Dir, a, c.Dir, b)
		}
		used, err := c.cpu()
		if err != nil {
			return nil, err
		}
		ph := c.phase()
		out.Calibrations = append(out.Calibrations, record.ProbeCalibration{Record: c.Dir, Workers: ph.Workers,
			Rate: ph.Rates.Achieved, Service: ph.All.Service.Mean, CPU: used / float64(max(1, ph.Ended.Attempted)) * 1e9})
	}
	slices.SortStableFunc(out.Calibrations, func(a, b record.ProbeCalibration) int {
		return cmp.Compare(a.Workers, b.Workers)
	})
	m.cpu = out.Calibrations
	if len(m.cpu) == 0 || m.cpu[0].Workers != 1 {
		return nil, fmt.Errorf("no calibration has one worker, so the time of an operation without a queue is unknown: run one with --threads 1")
	}
	i := slices.IndexFunc(list, func(c Calibration) bool { return c.phase().Workers == 1 })
	if err := m.software1(&list[i]); err != nil {
		return nil, err
	}
	for i := range m.cpu {
		m.cpu[i].Demand = m.demand(&m.cpu[i])
	}
	return m, nil
}

// demand is the time that an operation occupies a core, in ns. With one worker it is the processor time. With more, it
// is that of a closed network with the cores as a station and all else as think time, which has the measured throughput
// (service demand law, Denning and Buzen 1978). So it includes what else workers wait for, such as locks.
func (m *engineModel) demand(c *record.ProbeCalibration) float64 {
	if c.Workers == 1 {
		return min(c.CPU, m.mean)
	}
	rest := max(0, m.mean-m.cpu[0].CPU) + float64(m.think)
	want := float64(c.Workers) / c.Rate * 1e9 // time of a cycle
	low, high := 1.0, want
	for range 60 {
		d := math.Sqrt(low * high)
		if d*cycle(float64(c.Workers), float64(m.out.Cores), rest/d) < want {
			low = d
		} else {
			high = d
		}
	}
	return low
}

// setting is what must be equal in all runs of a prediction.
func setting(r *record.Run) string {
	w := r.Specification.Workload
	return fmt.Sprintf("%s %s, workload %s with %d records, %s", r.Target.Kind, r.Target.Version, w.Name, w.Records,
		durabilityOf(r))
}

func durabilityOf(r *record.Run) string {
	return strings.Join(r.Specification.Durability.Asked(), ", ")
}

// usable refuses runs that do not show the time without a sync, and deployments that the model does not describe.
func (c *Calibration) usable() error {
	r, ph := c.Run, c.phase()
	d := r.Specification.Durability.Effective()
	switch {
	case measure.Worst(r.Validity) == measure.Invalid:
		return fmt.Errorf("%s: the run is invalid, so it calibrates nothing", c.Dir)
	case r.Scheduled:
		return fmt.Errorf("%s: the run has an offered rate; a calibration needs a closed loop, so remove --rate", c.Dir)
	case d.Journal == nil || !*d.Journal:
		return fmt.Errorf("%s: its writes do not wait for the journal: run it with --durability durable", c.Dir)
	case ph.All.Service == nil || ph.Ended.Attempted == 0:
		return fmt.Errorf("%s: no operation succeeded", c.Dir)
	case LogOf(r.Target.Kind) == "":
		return fmt.Errorf("%s: it is not known how %s writes its journal, so nothing is predicted for it", c.Dir, cmp.Or(r.Target.Kind, "this target"))
	case len(r.Target.Hosts) > 1 || r.Lab != nil && r.Lab.Specification.Topology.Members > 1 || r.Target.Topology == "sharded":
		return fmt.Errorf("%s: writes wait for other members too, which this model does not have: predict a single server", c.Dir)
	case r.Lab != nil && r.Lab.Specification.Hosts.Cores > 0:
		return fmt.Errorf("%s: its hosts may use %s cores only, which this model does not have", c.Dir, figure.Significant(r.Lab.Specification.Hosts.Cores))
	}
	return c.fits()
}

// fits refuses calibrations that touch a disk, and data that do not fit into memory.
func (c *Calibration) fits() error { return cmp.Or(c.untouched(), c.dataFit()) }

// untouched refuses calibrations that touch a disk. If the record does not say where the files were, it is assumed that
// the writes of the machine's disks are those of the engine.
func (c *Calibration) untouched() error {
	l := c.Run.Lab
	if c.Run.Target.Settings["file_system"] == "tmpfs" ||
		l != nil && l.Specification.Storage.Device == "" && strings.HasPrefix(l.Specification.Storage.Dir, "/dev/shm") {
		return nil
	}
	writes := 0.0
	for _, s := range c.Run.Series {
		if strings.HasPrefix(s.Source, "host:") && strings.HasPrefix(s.Name, "disk.") && strings.HasSuffix(s.Name, ".writes") {
			writes += s.Mean
		}
	}
	if rate := c.phase().Rates.Achieved; writes > rate/2 {
		return fmt.Errorf("%s: disks did %s writes for each operation, so its times include syncs: calibrate on a filesystem in memory, such as /dev/shm",
			c.Dir, figure.Significant(writes/rate))
	}
	return nil
}

func (c *Calibration) dataFit() error {
	keys, err := capacity.KeysOf(c.Run.Specification.Workload)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Dir, err)
	}
	memory := float64(c.Run.Environment.MemoryBytes)
	if l := c.Run.Lab; l != nil && l.Specification.Hosts.Memory > 0 {
		memory = float64(l.Specification.Hosts.Memory)
	}
	if data := keys.Records * keys.DocBytes; memory > 0 && data > memory/2 {
		return fmt.Errorf("%s: %s of data do not fit into half of %s of memory, and reads of the disk are not in this model",
			c.Dir, figure.Bytes(int64(data)), figure.Bytes(int64(memory)))
	}
	return nil
}

func (m *engineModel) describe(c *Calibration) (err error) {
	r := c.Run
	m.out.Engine, m.out.Workload, m.out.Durability = r.Target.Kind, r.Specification.Workload.Name, durabilityOf(r)
	m.out.Cores = max(1, int(math.Round(r.Environment.Cores)))
	if _, m.out.Writes, err = capacity.Shares(r.Specification.Workload); err != nil {
		return fmt.Errorf("%s: %w", c.Dir, err)
	}
	for i, class := range c.Summary.Dims.Classes {
		if isWrite(class.Name) && !class.Part && c.Summary.Classes[i].Service.Count() > 0 {
			m.out.Class = class.Name
			return m.lockFree(r)
		}
	}
	return fmt.Errorf("%s: the workload writes nothing", c.Dir)
}

// lockFree refuses skewed updates on PostgreSQL, where a writer keeps the lock of its document until the sync.
func (m *engineModel) lockFree(r *record.Run) error {
	keys, err := capacity.KeysOf(r.Specification.Workload)
	if err != nil || m.out.Class == "insert" || LogOf(r.Target.Kind) != spec.LogOverwritten || keys.Distribution == "uniform" {
		return err
	}
	return fmt.Errorf("PostgreSQL keeps the lock of a document until the sync, and with %s keys many writers wait for the same document, which this model does not have: use insert, or requestdistribution=uniform",
		keys.Distribution)
}

func isWrite(class string) bool {
	return class == "update" || class == "insert" || class == "readmodifywrite"
}

// cpu is the processor time of load and engine in the measured phase, in seconds. In a lab, and with the embedded
// engine, it is that of the processes. Otherwise it is that of the whole machine, if the server runs here.
func (c *Calibration) cpu() (float64, error) {
	ph := c.phase()
	own := ph.Client.CPUSeconds
	if c.Run.Target.Kind == "embedded" {
		return own, nil
	}
	lab, machine := 0.0, 0.0
	for _, s := range c.Run.Series {
		switch {
		case s.Name != "cpu.used":
		case strings.HasPrefix(s.Source, "host:") && strings.Contains(s.Source, "/"):
			lab += s.Mean * ph.Seconds
		case strings.HasPrefix(s.Source, "host:"):
			machine = s.Mean * ph.Seconds
		}
	}
	switch {
	case c.Run.Lab != nil && lab > 0:
		return own + lab, nil
	case c.Run.Lab == nil && machine > 0 && capacity.Loopback(c.Run.Target.Hosts):
		return machine, nil
	}
	return 0, fmt.Errorf("%s: the processor time of the server is not in the record: calibrate on a lab, or on the machine of the server", c.Dir)
}

// software1 reads the times of operations of one worker.
func (m *engineModel) software1(c *Calibration) error {
	ph := c.phase()
	m.mean = ph.All.Service.Mean
	m.share = m.cpu[0].CPU / m.mean
	m.think = time.Duration(max(0, 1e9/ph.Rates.Achieved-m.mean))
	all, err := c.Summary.All()
	if err != nil {
		return err
	}
	m.reads = drawsOf(all.Service)
	for i, class := range c.Summary.Dims.Classes {
		switch {
		case class.Name == m.out.Class:
			m.writes = drawsOf(c.Summary.Classes[i].Service)
		case !isWrite(class.Name) && !class.Part && c.Summary.Classes[i].Service.Count() > 0:
			m.reads = drawsOf(c.Summary.Classes[i].Service)
		}
	}
	return nil
}

// software draws the time of an operation without a sync among n workers.
func (m *engineModel) software(n int) func(*rand.Rand, bool) (computes, waits, thinks time.Duration) {
	share := m.demandAt(n) / m.mean
	alone := min(1, m.share)
	return func(r *rand.Rand, write bool) (time.Duration, time.Duration, time.Duration) {
		d := &m.reads
		if write {
			d = &m.writes
		}
		t := float64(d.draw(r))
		return time.Duration(t * share), time.Duration(t * (1 - alone)), m.think
	}
}

// demandAt is the demand of an operation among n workers in ns, on a straight line between calibrations over the
// logarithm of their workers.
func (m *engineModel) demandAt(n int) float64 {
	i, found := slices.BinarySearchFunc(m.cpu, n, func(c record.ProbeCalibration, n int) int {
		return cmp.Compare(c.Workers, n)
	})
	switch {
	case found:
		return m.cpu[i].Demand
	case i == len(m.cpu):
		return m.cpu[i-1].Demand
	}
	a, b := m.cpu[i-1], m.cpu[i]
	x := math.Log(float64(n)/float64(a.Workers)) / math.Log(float64(b.Workers)/float64(a.Workers))
	return a.Demand + x*(b.Demand-a.Demand)
}

// draws is a measured distribution to draw from.
type draws struct {
	values []int64
	up     []int64 // number of values up to each
}

func drawsOf(h *measure.Histogram) (d draws) {
	sum := int64(0)
	for v, n := range h.Buckets() {
		sum += n
		d.values, d.up = append(d.values, v), append(d.up, sum)
	}
	return d
}

func (d *draws) draw(r *rand.Rand) time.Duration {
	if len(d.up) == 0 {
		return 0
	}
	n := r.Int64N(d.up[len(d.up)-1])
	return time.Duration(d.values[sort.Search(len(d.up), func(i int) bool { return d.up[i] > n })])
}

// syncs are the syncs of a probe by the number of commits that they carry.
type syncs struct {
	batches []float64
	times   []draws
	clients int // the most of the probe
}

func syncsOf(p *record.Probe, engine string) (*syncs, error) {
	s := &syncs{}
	if have := cmp.Or(p.Specification.Log, spec.LogReserved); have != LogOf(engine) {
		return nil, fmt.Errorf("the probe wrote a %s log, and %s writes a %s one: probe with --log %[3]s", have, engine, LogOf(engine))
	}
	for _, step := range p.ProfileSteps(spec.ProbeJournal) {
		h, err := measure.Decode(step.Histograms["flush"])
		if err != nil || h.Count() == 0 || step.Interrupted {
			continue
		}
		b := float64(step.Operations) / float64(step.Flushes)
		if n := len(s.batches); n > 0 && b <= s.batches[n-1] {
			b = s.batches[n-1] // of 1 and 2 clients; the later step counts
			s.batches, s.times = s.batches[:n-1], s.times[:n-1]
		}
		s.batches, s.times = append(s.batches, b), append(s.times, drawsOf(h))
		s.clients = step.Clients
	}
	if len(s.batches) == 0 {
		return nil, fmt.Errorf("the probe has no step of the profile journal, so the time of a sync is unknown")
	}
	return s, nil
}

// sample draws the time of a sync. Between two steps, it is from the nearer one more often.
func (s *syncs) sample(r *rand.Rand, commits int) time.Duration {
	i := sort.SearchFloat64s(s.batches, float64(commits))
	switch {
	case i == 0:
		return s.times[0].draw(r)
	case i == len(s.batches):
		return s.times[i-1].draw(r)
	}
	x := math.Log(float64(commits)/s.batches[i-1]) / math.Log(s.batches[i]/s.batches[i-1])
	if r.Float64() < x {
		return s.times[i].draw(r)
	}
	return s.times[i-1].draw(r)
}
