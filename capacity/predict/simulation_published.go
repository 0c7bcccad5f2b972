package predict

import (
	"cmp"
	"fmt"
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
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// reference is a document that describes its hardware, its deployment and a load with two workloads.
type reference struct {
	source  *published.Source
	sweeps  []*published.Sweep
	name    string // after "published:"
	servers float64
	records float64 // of all servers
	threads float64
	memory  float64 // of a data server, in GB
	routers int     // cores of a router
	stated  []stated
	times   times
	keys    map[string]capacity.Keys // of each workload
}

// stated is one stated figure of a level that can be simulated.
type stated struct {
	sweep, level, workload, metric string
	value                          float64 // in operations per second, or in ns
	setup                          setup   // of a shard
	servers, cache, records        float64 // cache and records of one of them
	calibrates                     bool
	bias                           float64 // of the simulation: by how much its logarithm is above that of [meanOf]
}

// times are what is found from figures. All but Holding are in ns.
type times struct {
	Router  float64 // that an operation occupies a core of a router
	Rest    float64 // all else of an operation without misses and syncs
	Page    float64 // one read of a page that is not in the cache
	Sync    float64 // one sync of the journal
	Commit  float64 // what each commit adds to a sync
	Holding float64 // share of the cache, as of the model of memory, that holds pages
}

func (p *times) values() []*float64 {
	return []*float64{&p.Router, &p.Rest, &p.Page, &p.Sync, &p.Commit}
}

// times are the metrics of documents that are times, by the metric of a check.
var publishedMetrics = []struct{ stated, check string }{
	{"throughput", record.CheckThroughput}, {"read.mean", record.CheckReadMean}, {"update.mean", record.CheckWriteMean},
}

// publishedOperations are those of the simulation of a level.
const publishedOperations = 20_000

// SimulatePublished simulates the deployment of a document, or another one if d is not nil. Its times are found from
// every second level of the sweeps that state the most, and the figures of the chosen sweeps are compared with the
// simulation.
func SimulatePublished(ref string, d *spec.Deployment, tool record.Tool) (*record.Simulation, error) {
	r, err := openReference(ref)
	if err != nil {
		return nil, err
	}
	if d == nil {
		own := r.deployment()
		d = &own
	}
	out := &record.Simulation{SchemaVersion: record.SchemaVersion, Kind: record.KindSimulation, Tool: tool, Deployment: *d,
		Checks: []record.SimulationCheck{}, Validity: []measure.Finding{}}
	r.collect(out)
	r.times = calibrated(r.source.Name)
	out.Document = &record.SimulationDocument{Name: r.source.Name, Title: r.source.Title, Hardware: r.hardware(),
		Rule: r.rule(), Parameters: r.parameters()}
	checked := r.compare(out)
	if d.Load.Workers > 0 {
		if err := r.answer(out, checked); err != nil {
			out.Refused = append(out.Refused, "load: "+err.Error())
		}
	}
	if len(d.Failures) > 0 {
		out.Refused = append(out.Refused, "failures: a document has no drills, and two of each failure are needed, because "+
			"each is simulated from the other")
	}
	if out.Load != nil {
		out.Validity = append(append(out.Validity, assumptions(*d)...), miscalibrated(out.Document.Calibrated)...)
	}
	return out, nil
}

// miscalibrated warns of figures that calibrated and that the simulation nevertheless misses.
func miscalibrated(checks []record.SimulationCheck) []measure.Finding {
	var off []string
	for _, c := range checks {
		if !c.Holds {
			metric := strings.ReplaceAll(c.Metric, "_", " ")
			off = append(off, fmt.Sprintf("%s, %s by %s", c.Setup, metric, figure.Percent(c.Error)))
		}
	}
	if len(off) == 0 {
		return nil
	}
	return []measure.Finding{{ID: "calibration-off", Severity: measure.Warning, Text: "the simulation misses figures that " +
		"calibrated it: " + strings.Join(off, "; ")}}
}

// openReference reads what a document says of its deployment. Only one describes servers well enough.
func openReference(ref string) (*reference, error) {
	source, sweeps, err := published.Select(ref)
	if err != nil {
		return nil, err
	}
	r := &reference{source: source, sweeps: sweeps, name: ref, keys: map[string]capacity.Keys{}}
	var missing []string
	fact := func(id string) float64 {
		v, ok := source.Value(id)
		if !ok {
			missing = append(missing, id)
		}
		return v.Number
	}
	r.servers, r.threads, r.memory = fact("data-servers"), fact("threads"), fact("mongod-memory")
	r.records, r.routers = fact("records")*1e6, int(fact("mongos-cores"))
	if len(missing) > 0 {
		return nil, fmt.Errorf("published:%s does not describe its deployment (%s), so it cannot be simulated", source.Name,
			strings.Join(missing, ", "))
	}
	for workload := range source.Mixes {
		keys, err := capacity.KeysOf(spec.Workload{Name: "ycsb-" + workload, Records: 1000})
		if err != nil {
			return nil, err
		}
		r.keys[workload] = keys
	}
	return r, nil
}

// deployment is the baseline of the document.
func (r *reference) deployment() spec.Deployment {
	return spec.Deployment{Shards: spec.Count(r.servers), Members: 1, Acknowledge: 1, Routers: true,
		Load:  spec.DeploymentLoad{Workers: spec.Count(r.threads)},
		Cache: spec.Size(capacity.WiredTigerCache(r.memory * (1 << 30))), Records: spec.Count(r.records / r.servers),
		Time: spec.Duration(24 * time.Hour)}
}

// hardware are the facts of tables of hardware and of virtual machines, and how many of them there are.
func (r *reference) hardware() (list []record.SimulationFact) {
	for _, f := range r.source.Facts {
		switch {
		case f.Section == "Hardware Resources", f.Section == "VM and Database Configuration" && f.How == "table",
			slices.Contains([]string{"hosts", "data-servers", "config-servers", "clients", "threads", "records", "stripe-width",
				"failures-to-tolerate", "data-size"}, f.ID):
			list = append(list, record.SimulationFact{Says: f.Says,
				Value: strings.TrimSpace(strings.TrimSpace(f.Value.Bound+" "+f.Value.Written) + " " + f.Unit)})
		}
	}
	return list
}

// calibrating are the sweeps that state the throughput of the most levels.
func (r *reference) calibrating() (list []*published.Sweep) {
	most := 0
	for _, s := range r.source.Sweeps {
		n := 0
		for i := range s.Levels {
			if v, ok := s.Levels[i].Values["throughput"]; ok && v.Bound == "" {
				n++
			}
		}
		if n > most {
			list, most = nil, n
		}
		if n == most && n > 0 {
			list = append(list, s)
		}
	}
	return list
}

func (r *reference) rule() string {
	var items []string
	for _, s := range r.calibrating() {
		items = append(items, cmp.Or(s.Item, s.ID))
	}
	return "The first, third and fifth level of " + strings.Join(items, " and ") +
		", which state the throughput of the most levels, calibrate with all of their figures. All others are compared."
}

// simulated are the factors whose levels differ in what is simulated.
var simulatedFactors = []string{"cores and memory", "client threads", "data servers"}

// unsimulated says why the figures of the other levels of a sweep are not compared with the simulation.
var unsimulated = map[string]string{
	"durability":               "writes of its other levels do not wait for the journal, and no figure calibrates that",
	"replica set and w":        "no figure shows what other members add: they are bounds, said of several levels together",
	"checksum":                 "the storage of its other level has only figures of that level: they would calibrate it, and nothing would be left to compare",
	"device of the cache tier": "the storage of its other level has only figures of that level: they would calibrate it, and nothing would be left to compare",
	"replica set and what failed": "each outage is stated once, and two of each failure are needed, because each is simulated " +
		"from the other",
}

// collect reads the stated figures, and says which are not simulated.
func (r *reference) collect(out *record.Simulation) {
	seen := map[string]bool{} // the baseline is a level of many sweeps
	add := func(s *published.Sweep, i int, calibrates bool) (added int) {
		l := &s.Levels[i]
		for _, m := range publishedMetrics {
			v, ok := l.Values[m.stated]
			key := s.ID + "/" + l.Name + "/" + m.check
			if l.As != "" {
				key = l.As + "/" + m.check
			}
			if !ok || v.Bound != "" || seen[key] {
				continue
			}
			f := r.figure(s, l)
			f.metric, f.value, f.calibrates = m.check, v.Number, calibrates
			if v.Unit == "ms" {
				f.value *= 1e6
			}
			seen[key] = true
			r.stated = append(r.stated, f)
			added++
		}
		return added
	}
	for _, s := range r.calibrating() {
		for i := 0; i < len(s.Levels); i += 2 {
			add(s, i, true)
		}
	}
	for _, s := range r.sweeps {
		n := 0
		if slices.Contains(simulatedFactors, s.Factor) {
			for i := range s.Levels {
				n += add(s, i, false)
			}
		}
		if why := cmp.Or(unsimulated[s.Factor], tooFew(s)); n == 0 && why != "" {
			out.LeftOut = append(out.LeftOut, fmt.Sprintf("%s, %s: %s", cmp.Or(s.Item, s.ID), s.Factor, why))
		}
	}
}

// tooFew says of a sweep of figures that it states none of its levels but the baseline.
func tooFew(s *published.Sweep) string {
	stated := 0
	for i := range s.Levels {
		if s.Levels[i].As == "" && len(s.Levels[i].Values) > 0 {
			stated++
		}
	}
	if stated > 0 || !slices.Contains(s.Metrics, "throughput") || s.Factor == "workload" {
		return ""
	}
	return "the document only draws the figures of its levels, except those of the baseline"
}

// figure is the deployment of a level, without a value.
func (r *reference) figure(s *published.Sweep, l *published.Level) stated {
	number := func(key string, otherwise float64) float64 {
		text := strings.TrimSuffix(strings.TrimSuffix(l.Sets[key], "GB"), " million")
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
		return otherwise
	}
	servers := number("nodes", r.servers)
	threads := float64(cmp.Or(l.Workers, int(r.threads)))
	f := stated{sweep: cmp.Or(s.Item, s.ID), level: l.Name, workload: s.Workload, servers: servers}
	f.cache = capacity.WiredTigerCache(number("memory", r.memory) * (1 << 30))
	f.records = number("records", r.records/1e6) * 1e6 / servers
	f.setup = setup{workers: int(threads / servers), members: 1, router: true}
	return f
}

// shard is a data server with its part of a load, behind the cores of one router.
func (r *reference) shard(f *stated) simulate.Shard {
	exponential := func(r *rand.Rand, mean float64) time.Duration { return time.Duration(r.ExpFloat64() * mean) }
	mix, m := r.source.Mixes[f.workload], &r.times
	return simulate.Shard{Workers: f.setup.workers, Cores: r.routers, Writes: 1 - mix["read"], Misses: r.misses(f),
		Software: func(r *rand.Rand, _ bool) (computes, waits, thinks time.Duration) {
			return exponential(r, m.Router), exponential(r, m.Rest), 0
		},
		Sync: func(r *rand.Rand, commits int) time.Duration {
			return exponential(r, m.Sync+m.Commit*float64(commits))
		},
		Read:       func(r *rand.Rand, _ int) time.Duration { return exponential(r, m.Page) },
		Operations: publishedOperations, Seed: 1}
}

// of is the figure in a simulation of its shard.
func (f *stated) of(o *simulate.Outcome) float64 {
	switch f.metric {
	case record.CheckThroughput:
		return o.Rate * f.servers
	case record.CheckReadMean:
		return o.Reads.Mean()
	}
	return o.Writes.Mean()
}

// simulated are figures in simulations of their levels, each of which is simulated once.
func (r *reference) simulated(figures []*stated) []float64 {
	type level struct {
		setup          setup
		workload       string
		cache, records float64
	}
	known := map[level]*simulate.Outcome{}
	list := make([]float64, len(figures))
	for i, f := range figures {
		key := level{f.setup, f.workload, f.cache, f.records}
		o := known[key]
		if o == nil {
			shard := r.shard(f)
			out := shard.Run()
			o = &out
			known[key] = o
		}
		list[i] = f.of(o)
	}
	return list
}

// parameters are the times that the figures gave, for people.
func (r *reference) parameters() []record.SimulationFact {
	ms := func(ns float64) string { return figure.Duration(time.Duration(ns)) }
	m := &r.times
	return []record.SimulationFact{
		{Says: fmt.Sprintf("time of an operation on one of the %d cores of its router", r.routers), Value: ms(m.Router)},
		{Says: "other time of an operation without misses and syncs", Value: ms(m.Rest)},
		{Says: "read of a page that is not in the cache", Value: ms(m.Page)},
		{Says: "sync of the journal", Value: ms(m.Sync) + " and " + ms(m.Commit) + " for each commit"},
		{Says: "pages that a cache holds, as a multiple of the model's", Value: figure.Significant(m.Holding)},
	}
}

// compare holds the figures against their simulation, and returns the setups of those that did not calibrate.
func (r *reference) compare(out *record.Simulation) (checked []setup) {
	var figures []*stated
	for i := range r.stated {
		figures = append(figures, &r.stated[i])
	}
	x := r.simulated(figures)
	for i, f := range figures {
		limit := p99Limit // of times
		if f.metric == record.CheckThroughput {
			limit = rateLimit
		}
		c := judged(record.SimulationCheck{Records: []string{f.sweep}, Metric: f.metric, Simulated: x[i], Measured: f.value,
			Setup: fmt.Sprintf("%s, workload %s, %s", f.sweep, f.workload, f.level)}, limit)
		if f.calibrates {
			out.Document.Calibrated = append(out.Document.Calibrated, c)
			continue
		}
		if out.Checks = append(out.Checks, c); f.metric == record.CheckThroughput {
			s := f.setup
			s.misses = r.misses(f)
			checked = append(checked, s)
		}
	}
	return checked
}

func (r *reference) misses(f *stated) float64 {
	m := misses(pages{r.keys[f.workload].Sized(f.records), f.cache * r.times.Holding})
	if m < leastMisses {
		return 0
	}
	return m
}

// answer simulates the deployment, after its gate.
func (r *reference) answer(out *record.Simulation, checked []setup) error {
	d := &out.Deployment
	var workloads []string
	for i := range r.stated {
		if f := &r.stated[i]; !f.calibrates && !slices.Contains(workloads, f.workload) {
			workloads = append(workloads, f.workload)
		}
	}
	f := stated{servers: float64(d.Shards), cache: float64(d.Cache), records: float64(d.Records), setup: shardOf(d)}
	switch {
	case len(workloads) != 1:
		if err := reproduced(out.Checks, "figures"); err != nil {
			return err
		}
		return fmt.Errorf("the figures are of the workloads %s, and a deployment has one: choose figures of one, for example published:%s/figure-7",
			strings.Join(workloads, " and "), r.source.Name)
	case d.Cache == 0:
		return fmt.Errorf("the deployment needs cache: and records:, because the figures depend on them")
	}
	f.workload = workloads[0]
	f.setup.misses = r.misses(&f)
	err := cmp.Or(reproduced(out.Checks, "figures"), f.setup.near(checked, "figures"))
	others := slices.ContainsFunc(r.stated, func(x stated) bool { return !x.calibrates && x.servers != r.servers })
	if err == nil && f.servers != r.servers && !others {
		err = fmt.Errorf("these figures are of %g data servers, and the deployment has %d. Choose figures of other numbers of them too",
			r.servers, d.Shards)
	}
	if err != nil {
		return err
	}
	shard := r.shard(&f)
	o := shard.Run()
	out.Load = &record.SimulationLoad{Rate: o.Rate * f.servers, Mean: o.Writes.Mean(), Journal: o.Journal, CPU: o.Cores,
		Misses: f.setup.misses}
	return nil
}

// meanOf is a figure of a level by mean value analysis: a closed network of the cores of a router, a journal, and
// times in which nothing queues. Router is a station of exponential times, as in [cycle]. A commit takes its own sync
// and, if one runs when it comes, the rest of that one, which is as long because times are exponential.
func (r *reference) meanOf(f *stated, m *times) float64 {
	n, mix := float64(f.setup.workers), r.source.Mixes[f.workload]
	writes := 1 - mix["read"]
	rest := m.Rest + m.Page*misses(pages{r.keys[f.workload].Sized(f.records), f.cache * m.Holding})
	low, high := 0.0, n/(m.Router+rest)
	commit, total := 0.0, 0.0
	for range 40 {
		x := (low + high) / 2
		commit = commitOf(x*writes, m)
		total = cycle(n, float64(r.routers), (rest+writes*commit)/m.Router) * m.Router
		if n/total > x {
			low = x
		} else {
			high = x
		}
	}
	switch f.metric {
	case record.CheckThroughput:
		return n / total * f.servers * 1e9
	case record.CheckReadMean:
		return total - writes*commit
	}
	return total + (1-writes)*commit
}

// commitOf is the mean time of a commit with so many arrivals per ns.
func commitOf(arrivals float64, m *times) float64 {
	sync := m.Sync
	busy := 0.0
	for range 20 {
		none := 1 / (1 + arrivals*sync) // after a sync, no commit waits
		idle := none / max(arrivals, 1e-12)
		busy = sync / (sync + idle)
		sync = min(m.Sync+m.Commit*arrivals*(sync+idle), 1e12)
	}
	return sync * (1 + busy)
}

// calibrated are the times of a document, which are the same whatever is compared.
var calibrated = remembered(func(name string) times {
	r, err := openReference(name)
	if err != nil {
		return times{} // its caller has opened it
	}
	r.collect(&record.Simulation{})
	r.calibrate()
	return r.times
})

// calibrate finds the times whose figures are nearest to those that calibrate, by least squares on relative residuals
// (Levenberg and Marquardt, on logarithms). Holding is the best of a grid, as in the model "cache". The analysis of
// mean values is quick and near to the simulation. By how much it differs is measured, and then the search is repeated.
func (r *reference) calibrate() {
	var figures []*stated
	for i := range r.stated {
		if r.stated[i].calibrates {
			figures = append(figures, &r.stated[i])
		}
	}
	least := math.Inf(1)
	for _, holding := range logarithmic(0.5, 2, 9) {
		for _, router := range []float64{0.1, 0.5} {
			m := r.start(figures, holding, router)
			if sum := r.descend(figures, &m); sum < least*(1-1e-9) {
				least, r.times = sum, m
			}
		}
	}
	for range 2 {
		for i, x := range r.simulated(figures) {
			figures[i].bias = math.Log(x / r.meanOf(figures[i], &r.times))
		}
		r.descend(figures, &r.times)
	}
}

// descend moves m to a minimum and returns the sum of squares there.
func (r *reference) descend(figures []*stated, m *times) float64 {
	at := func(m *times) (residuals []float64, sum float64) {
		for _, f := range figures {
			x := math.Log(r.meanOf(f, m)/f.value) + f.bias
			residuals, sum = append(residuals, x), sum+x*x
		}
		return residuals, sum
	}
	now, sum := at(m)
	damping := 0.1
	for range 40 {
		const step = 0.01
		var columns [][]float64
		for j := range m.values() {
			moved := *m
			*moved.values()[j] *= math.Exp(step)
			there, _ := at(&moved)
			for i := range there {
				there[i] = (there[i] - now[i]) / step
			}
			columns = append(columns, there)
		}
		next := *m
		for j, d := range descent(columns, now, damping) {
			*next.values()[j] *= math.Exp(max(-1, min(1, d)))
		}
		if there, less := at(&next); less < sum {
			done := less > sum*(1-1e-6)
			*m, now, sum = next, there, less
			if damping /= 4; done {
				break
			}
		} else {
			damping *= 6
		}
	}
	return sum
}

// descent is the step of Levenberg and Marquardt.
func descent(columns [][]float64, residuals []float64, damping float64) []float64 {
	p := len(columns)
	a, d := make([][]float64, p), make([]float64, p)
	for i := range a {
		a[i] = make([]float64, p)
		for j := range p {
			for k := range residuals {
				a[i][j] += columns[i][k] * columns[j][k]
			}
		}
		a[i][i] = a[i][i]*(1+damping) + 1e-9 // what no figure shows stays as it is
	}
	inverse, ok := invert(a)
	for i := range p {
		for j := range p {
			for k := range residuals {
				if ok {
					d[i] -= inverse[i][j] * columns[j][k] * residuals[k]
				}
			}
		}
	}
	return d
}

// start is where a search begins: a part of the shortest read for the router and the other part for the rest, half of
// the longest write for a sync, and what the slowest level has more than the fastest for its misses.
func (r *reference) start(figures []*stated, holding, router float64) times {
	read, commit, low, high := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, f := range figures {
		switch f.metric {
		case record.CheckReadMean:
			read = min(read, f.value)
		case record.CheckWriteMean:
			commit = max(commit, f.value)
		default:
			total := float64(f.setup.workers) / f.value * f.servers * 1e9
			low, high = min(low, total), max(high, total)
		}
	}
	return times{Router: read * router, Rest: read * (1 - router), Sync: commit / 2, Commit: commit / 100,
		Page: high - low, Holding: holding}
}
