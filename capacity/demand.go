package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// demand is one workload and the number of nodes that it needs.
type demand struct {
	w   *workloadRuns
	p   *point // of which the size is made
	out record.SizeWorkload

	nodes, copies int // of the measured deployment
	scaling       *Scaling
	factor        string // name of the factor that varied the size, "" without one
	needed        Estimate
	shards        int // that the operations need, at the safe end of the interval

	records, docBytes float64   // of the whole measured data set
	indexBytes        float64   // keys of secondary indexes of a document, 0 for built-in workloads
	keys              *Accesses // nil without a model
	cache             float64   // of a member in the measurement, 0 if unknown
	memory, cores     float64   // of a node in the measurement, 0 if unknown
	required          float64   // hit ratio
	writes            float64   // share of the operations
	durable           bool      // writes wait for the journal
}

// assumedHit is the hit ratio to keep if the cache of the measurement is unknown.
const assumedHit = 0.99

func (s *sizer) newDemand(w *workloadRuns) (*demand, error) {
	d := &demand{w: w}
	s.chooseLine(w)
	points := w.points()
	for _, p := range points {
		if err := p.judge(s.objectives()); err != nil {
			return nil, err
		}
	}
	d.p = best(points)
	if err := s.deployment(d); err != nil {
		return nil, err
	}
	if err := s.scale(d, points); err != nil {
		return nil, err
	}
	mean, iv, known := d.p.rate()
	d.out = record.SizeWorkload{
		Workload: w.name, Source: d.p.source, N: len(d.p.rates), Rate: mean, Nodes: d.nodes, Copies: d.copies,
		Objectives: d.p.results,
		Scaling:    d.out.Scaling, Software: d.p.trials[0].run.Target.Software(),
		AtLeast: d.p.atLeast,
	}
	for _, t := range d.p.trials {
		d.out.Records = append(d.out.Records, t.dir)
	}
	if known {
		d.out.Low, d.out.High = &iv.Low, &iv.High
	} else {
		s.doubt("no-interval", measure.Warning, "workload %s was measured once, so its variation is not known. Run it at least 3 times",
			w.name)
	}
	if d.p.source == sourceClosed {
		s.doubt("closed-loop", measure.Warning, "workload %s was measured in a closed loop (no --rate), so its rate is the maximum of %s. Users "+
			"do not wait for each other, so at that rate their queue grows. For a safe figure search the load line (plimsoll capacity), or use a run with "+
			"a --rate that holds",
			w.name, figure.Plural(int(d.p.load), "worker"))
	}
	return d, s.characterise(d)
}

// deployment sets the nodes and copies of the measured deployment.
func (s *sizer) deployment(d *demand) error {
	t := d.p.trials[0].run.Target
	g := s.in.Deployment
	d.nodes, d.copies = membersOf(d.p.trials[0].run)
	for _, x := range []struct {
		name         string
		given, known int
	}{{"--nodes", g.Nodes, d.nodes}, {"--copies", g.Copies, d.copies}} {
		if x.given > 0 && x.known > 0 && x.given != x.known {
			return fmt.Errorf("%s %d contradicts the record %s, which has %d (%s). Remove it. The need has the copies of the answer "+
				"(copies=3)", x.name, x.given, d.p.trials[0].dir, x.known, cmp.Or(t.Topology, t.Kind))
		}
	}
	if d.p.size > 0 {
		d.nodes = int(math.Round(d.p.size))
	}
	d.nodes, d.copies = cmp.Or(d.nodes, g.Nodes), cmp.Or(d.copies, g.Copies)
	if d.nodes == 0 && t.Topology == "sharded" {
		return unusable{fmt.Sprintf("%s: the target is sharded, and its routers do not report how many nodes have the data. Give --nodes and, for shards "+
			"that are replica sets, --copies", d.p.trials[0].dir)}
	}
	d.nodes, d.copies = max(d.nodes, 1), max(d.copies, 1)
	if d.w.sizedBy("shards") && d.p.size > 0 {
		d.nodes = int(math.Round(d.p.size)) * d.copies
	}
	if d.nodes < d.copies || d.nodes%d.copies != 0 {
		return unusable{fmt.Sprintf("%d nodes cannot have shards of %d copies each. Give --nodes and --copies of the measured deployment", d.nodes, d.copies)}
	}
	return nil
}

// membersOf returns the nodes with data of the deployment that a run loaded, and the copies of each document. 0 is
// unknown: routers do not name the members, and gateways not what is behind them.
func membersOf(run *record.Run) (nodes, copies int) {
	if nodes, copies = labOf(run); nodes > 0 {
		return nodes, copies
	}
	switch t := run.Target; {
	case t.Topology == "replica set" && len(t.Hosts) > 0:
		return len(t.Hosts), len(t.Hosts)
	case t.Topology == "standalone" && t.Software() == "mongod":
		return 1, 1
	}
	return 0, 0
}

// sizedBy reports whether a study varied this factor.
func (w *workloadRuns) sizedBy(name string) bool { return strings.EqualFold(w.factor, name) }

// scale collects throughput by size: for each size, the highest of the points that meet the need.
func (s *sizer) scale(d *demand, points []*point) error {
	bySize := map[float64]*point{}
	for _, p := range points {
		if o := bySize[p.size]; p.size > 0 && p.verdict == holds && p.source == d.p.source && (o == nil || higher(p, o) > 0) {
			bySize[p.size] = p
		}
	}
	var list []ScalePoint
	perUnit := 1.0
	if d.w.sizedBy("shards") {
		perUnit = float64(d.copies)
	}
	for size, p := range bySize {
		list = append(list, ScalePoint{N: size * perUnit, Throughput: p.rates})
	}
	if len(list) < 2 {
		list = []ScalePoint{{N: float64(d.nodes), Throughput: d.p.rates}}
	} else {
		d.factor = d.w.factor
	}
	var err error
	if d.scaling, err = NewScaling(list, 1); err != nil {
		return unusable{fmt.Sprintf("workload %s: %v", d.w.name, err)}
	}
	switch {
	case d.factor != "":
		d.out.Scaling = scalingResult("nodes", d.scaling.points, d.scaling.fit, d.scaling.Problem)
	case len(d.w.explained) > 1:
		fit, err := FitUSL(d.w.explained, FitOptions{Seed: 1})
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		d.out.Scaling = scalingResult(d.w.explaining, d.w.explained, fit, problem)
		d.out.Scaling.Warnings = append(d.out.Scaling.Warnings, "this is throughput by "+d.w.explaining+"; it says nothing about "+
			"more nodes")
	}
	return nil
}

// characterise sets what the workload needs of memory, disk and journal.
func (s *sizer) characterise(d *demand) error {
	run := d.p.trials[0].run
	spec := run.Specification
	var err error
	if d.records, d.docBytes, err = sample(spec.Workload); err != nil {
		return unusable{fmt.Sprintf("%s: %v", d.p.trials[0].dir, err)}
	}
	if err := d.machine(s.in.Deployment, run); err != nil {
		return err
	}
	plan, err := planOf(spec.Workload)
	if err != nil {
		return unusable{fmt.Sprintf("%s: %v", d.p.trials[0].dir, err)}
	}
	d.writes = writeShare(run, plan)
	if plan != nil {
		for _, s := range plan.Stored() {
			d.indexBytes += s.Indexes * float64(s.Records) / d.records
		}
	}
	d.durable = spec.Durability.Name == "durable" || spec.Durability.W == "majority"
	if j := spec.Durability.Journal; j != nil {
		d.durable = *j
	}
	keys, err := accessesOf(spec.Workload)
	if err != nil {
		s.doubt("no-memory-model", measure.Warning, "%v. The answer has no memory. Measure with the planned data on each node, and plan nodes like it", err)
		d.out.Memory = nil
		return nil
	}
	d.keys = &keys
	return s.remember(d, run)
}

// machine sets memory, cores and cache of the measured nodes.
func (d *demand) machine(given Deployment, run *record.Run) error {
	d.memory, d.cores = float64(given.Memory), given.Cores
	memory, cores := labMachine(run)
	if d.memory == 0 {
		d.memory = memory
	}
	if d.cores == 0 {
		d.cores = cores
	}
	if d.cores == 0 && (run.Target.Kind == "embedded" || Loopback(run.Target.Hosts)) {
		d.cores = run.Environment.Cores
	}
	m := &record.SizeMemory{}
	if x, err := strconv.ParseFloat(run.Target.Settings["wiredTiger cache bytes"], 64); err == nil && x > 0 {
		d.cache, m.From = x, "serverStatus"
	} else if all := served(run, "cache.max", func(s record.Series) *float64 { return &s.Last }); len(all) > 0 &&
		slices.Min(all) > 0 {
		d.cache, m.From = slices.Min(all), "serverStatus"
	} else if d.memory > 0 {
		d.cache, m.From = WiredTigerCache(d.memory), "memory"
	}
	if m.From == "serverStatus" && d.memory > 0 && d.memory < d.cache {
		return fmt.Errorf("--memory %s contradicts the record, whose servers have %s of cache. Remove it", figure.Bytes(int64(d.memory)),
			figure.Bytes(int64(d.cache)))
	}
	if d.memory == 0 && d.cache > 0 {
		d.memory = memoryFor(d.cache)
	}
	m.Cache = int64(d.cache)
	d.out.Memory = m
	return nil
}

// Loopback reports whether all hosts are this machine.
func Loopback(hosts []string) bool {
	for _, h := range hosts {
		name, _, err := net.SplitHostPort(h)
		if err != nil {
			name = h
		}
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return len(hosts) > 0
}

// remember predicts the hit ratio of the measurement, and compares it with the server's counters.
func (s *sizer) remember(d *demand, run *record.Run) error {
	m := d.out.Memory
	share := float64(d.copies) / float64(d.nodes) // of the documents, on a member
	keys := d.keys.Scaled(share)
	m.Distribution, m.Records, m.DocBytes, m.Required = keys.String(), d.records*share, d.docBytes, assumedHit
	d.required = assumedHit
	if kind := run.Target.Kind; kind != "mongod" && kind != "mongos" && kind != "" {
		s.doubt("memory-of-mongod", measure.Warning, "workload %s was measured on %s, whose cache is not WiredTiger's. The memory figures are for a mongod", d.w.name, kind)
	}
	if d.cache == 0 {
		s.doubt("cache-unknown", measure.Warning, "the cache size of the servers for %s is not in the record, so a hit ratio of %s is assumed. Give --memory of a node",
			d.w.name, figure.Percent(assumedHit))
		return nil
	}
	p, err := keys.Predict(WiredTiger(d.cache))
	if err != nil {
		return unusable{fmt.Sprintf("workload %s: %v", d.w.name, err)}
	}
	d.required = p.Hit
	m.Hit, m.Misses, m.Required = &p.Hit, &p.Misses, p.Hit
	if m.Course, err = course(keys, m); err != nil {
		return unusable{fmt.Sprintf("workload %s: %v", d.w.name, err)}
	}
	s.compareMisses(d, run)
	return nil
}

// course predicts the hit ratio as the data grow, around the size at which they no longer fit: the cliff.
func course(keys Accesses, m *record.SizeMemory) ([]record.SizeMemoryPoint, error) {
	cache := WiredTiger(float64(m.Cache))
	l := keys.layOut(cache)
	fits := l.room / (l.bytes() / m.Records)
	records := []float64{m.Records}
	for _, factor := range []float64{0.5, 1, 1.25, 1.5, 2, 4, 8} {
		records = append(records, fits*factor)
	}
	slices.Sort(records)
	var points []record.SizeMemoryPoint
	for _, n := range records {
		p, err := keys.Scaled(n / m.Records).Predict(cache)
		if err != nil {
			return nil, err
		}
		points = append(points, record.SizeMemoryPoint{
			Data: int64(n * m.DocBytes), Hit: p.Hit, Misses: p.Misses, Measured: n == m.Records,
		})
	}
	return points, nil
}

// writeShare is the share of the operations that write: those of a plan, or by their names.
func writeShare(run *record.Run, plan *own.Plan) float64 {
	var writes, all int64
	for _, c := range run.Phase("measure").Classes {
		if c.Part {
			continue
		}
		all += c.Counts.Attempted
		if plan == nil && writeClass(c.Name) || plan != nil && plan.Writing(c.Name) {
			writes += c.Counts.Attempted
		}
	}
	return float64(writes) / float64(max(all, 1))
}

// writeClass reports whether operations of a class write.
func writeClass(name string) bool {
	return slices.ContainsFunc([]string{"insert", "update", "write", "delete", "upsert", "replace"},
		func(word string) bool { return strings.Contains(name, word) })
}

// weigh computes the number of shards that one workload needs, or refuses with the reason.
func (s *sizer) weigh(d *demand) {
	need := s.in.Need
	switch {
	case d.p.verdict == misses:
		s.refuse(record.SizeImpossible, fmt.Sprintf("workload %s: at the measured load (%s) %s. Measure at a lower rate, or search the load line (plimsoll capacity) with this "+
			"objective. More nodes with less load each may suffice", d.w.name, d.p.describe(), d.p.why))
		return
	case d.p.verdict == untold:
		advice := "Use longer runs, with all operations that have an objective"
		if d.p.behind {
			advice = "Measure at a lower rate, or search the load line (plimsoll capacity)"
		} else if d.p.source == sourceClosed {
			advice = "Run it with --rate, or search the load line (plimsoll capacity)"
		}
		s.refuse(record.SizeUnknown, fmt.Sprintf("workload %s (%s): %s. %s", d.w.name, d.p.describe(), d.p.why, advice))
		return
	}
	d.shards = 1
	if need.Operations == 0 {
		return
	}
	e, err := d.scaling.Nodes(need.Operations)
	if err != nil {
		verdict := record.SizeImpossible
		if errors.As(err, new(notShown)) {
			verdict = record.SizeUnknown
		}
		s.refuse(verdict, fmt.Sprintf("workload %s: %v", d.w.name, err))
		return
	}
	d.needed = e
	d.out.Needed, d.out.Assumption = &e.N, e.Assumption
	safe := e.Safe
	if e.Known {
		d.out.NeededLow, d.out.NeededHigh = record.Finite(e.Low), record.Finite(e.High)
	}
	for _, doubt := range e.Doubts {
		s.doubt("scaling-"+e.Assumption, measure.Warning, "workload %s: %s", d.w.name, doubt)
	}
	if math.IsInf(safe, 0) {
		s.doubt("interval-open", measure.Warning, "workload %s: the interval of the nodes has no upper end, because the largest size may not suffice. The estimate is used", d.w.name)
		safe = e.N
	}
	d.shards = max(1, int(math.Ceil(safe/float64(d.copies)-1e-9)))
}

// describe words the load of a point.
func (p *point) describe() string {
	mean, _, _ := p.rate()
	if p.source == sourceClosed {
		return fmt.Sprintf("%s in a closed loop, %s/s", figure.Plural(int(p.load), "worker"), figure.Rate(mean))
	}
	var offered []float64 // it differs a little from the requested rate
	for _, t := range p.trials {
		offered = append(offered, t.run.Phase("measure").Rates.Offered)
	}
	text := figure.Rate(stats.Middle(offered)) + "/s offered"
	switch {
	case p.source == sourceCapacity:
		text += ", confirmed by a search of the load line"
	case p.verdict == holds:
		text += " and held, so the capacity is at least that"
	}
	return text
}

// served returns a value of each server that has the series (see run/observe).
func served(run *record.Run, name string, value func(record.Series) *float64) []float64 {
	var list []float64
	for _, s := range run.Series {
		if x := value(s); strings.HasPrefix(s.Source, "server:") && s.Name == name && x != nil {
			list = append(list, *x)
		}
	}
	return list
}

// compareMisses compares the prediction with the servers' counters, if the record has samples of them. Members of one
// shard repeat each other's writes, so the busiest one counts for a single shard. Shards are added.
func (s *sizer) compareMisses(d *demand, run *record.Run) {
	mean := func(s record.Series) *float64 { return &s.Mean }
	read, requested := served(run, "cache.pages_read", mean), served(run, "cache.pages_requested", mean)
	if len(read) == len(requested) && len(read) > 0 && sum(requested) > 0 {
		hit := max(0, 1-sum(read)/sum(requested))
		d.out.Memory.HitServer = &hit
	}
	misses := served(run, "cache.pages_read", func(s record.Series) *float64 { return s.PerOperation })
	if len(misses) == 0 {
		return
	}
	total := sum(misses)
	if d.nodes == d.copies {
		total = slices.Max(misses)
	}
	m := d.out.Memory
	m.MissesMeasured = &total
	if more := math.Abs(total - *m.Misses); more > 0.1 && more > 0.5*max(total, *m.Misses) {
		s.doubt("memory-model-off", measure.Warning, "workload %s: the server read %s pages per operation into its cache, but the model predicts %s, so the memory of this "+
			"answer is unreliable",
			d.w.name, figure.Significant(total), figure.Significant(*m.Misses))
	}
}

func sum(xs []float64) float64 {
	total := 0.0
	for _, x := range xs {
		total += x
	}
	return total
}
