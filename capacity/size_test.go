package capacity

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mongod is a target with so much cache.
func mongod(cache string) record.Target {
	return record.Target{Settings: map[string]string{"wiredTiger cache bytes": cache}}
}

// made writes records and returns their directories.
func made(t *testing.T, runs ...sizetest.Run) []string {
	t.Helper()
	return madeIn(t, t.TempDir(), runs...)
}

func madeIn(t *testing.T, in string, runs ...sizetest.Run) []string {
	t.Helper()
	var dirs []string
	for i, r := range runs {
		dir := filepath.Join(in, fmt.Sprintf("r%d", i+1))
		if err := sizetest.WriteRun(dir, r); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

func need(t *testing.T, text string) *Need {
	t.Helper()
	n, err := ParseNeed(text)
	if err != nil {
		t.Fatal(err)
	}
	return &n
}

func size(t *testing.T, in Input) *record.Sizing {
	t.Helper()
	s, err := Size(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open are three trials of an open loop, a little apart.
func open(rate float64, r sizetest.Run) []sizetest.Run {
	var list []sizetest.Run
	for _, f := range []float64{0.998, 0.999, 1} {
		r.Rate, r.Achieved = rate, rate*f
		list = append(list, r)
	}
	return list
}

func text(s *record.Sizing) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestSizeFromOpenLoop(t *testing.T) {
	t.Parallel()
	dirs := made(t, open(10_000, sizetest.Run{Target: mongod("4294967296")})...)
	s := size(t, Input{Records: dirs, Need: need(t, "ops=50000,p99<20ms")})
	if s.Verdict != record.SizeAnswered || s.Answer == nil {
		t.Fatal(text(s))
	}
	// Five and a little more, at the safe end of the interval; three copies, so no spare. More than was offered may hold.
	if a := s.Answer; a.Shards != 6 || a.Copies != 3 || a.Spare != 0 || a.Nodes != 18 || a.Decides != "operations" || !a.AtMost {
		t.Errorf("the answer is %+v", a)
	}
	w := s.Workloads[0]
	if w.Source != "open" || w.N != 3 || w.Assumption != Linear || w.Low == nil || *w.Needed < 5 ||
		*w.NeededLow > *w.Needed || w.NeededHigh != nil {
		t.Errorf("the workload is %+v", w)
	}
	if o := w.Objectives[0]; o.Met != 3 || o.N != 3 || *o.Worst < 9e6 || *o.Worst > 11e6 {
		t.Errorf("the objective is %+v", o)
	}
	if !strings.Contains(text(s), "scaling-linear") {
		t.Error("linear scaling is assumed silently")
	}
}

func TestSizeKeepsReplicasOfAReplicaSet(t *testing.T) {
	t.Parallel()
	target := mongod("4294967296")
	target.Topology, target.Hosts = "replica set", []string{"a:1", "b:1", "c:1"}
	dirs := made(t, open(10_000, sizetest.Run{Target: target})...)
	s := size(t, Input{Records: dirs, Need: need(t, "ops=25000")})
	if a := s.Answer; a == nil || a.Shards != 3 || a.Copies != 3 || a.Spare != 0 || a.Nodes != 9 {
		t.Fatal(text(s))
	}
	s = size(t, Input{Records: dirs, Need: need(t, "ops=25000,failures=2")})
	if a := s.Answer; a == nil || a.Spare != 2 || a.Nodes != 11 {
		t.Fatal(text(s))
	}
}

// What was not measured is not answered, and what was missed is not possible: each with its verdict and what to do.
func TestSizeRefuses(t *testing.T) {
	t.Parallel()
	invalid := []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid, Text: "the client was the limit"}}
	null := record.Target{Address: "null:tcp"} // which says that it is a mongod
	storesNothing := []measure.Finding{{ID: "null", Severity: measure.Note, Text: "the target stores nothing"}}
	sharded := record.Target{Kind: "mongos", Topology: "sharded", Hosts: []string{"r1:1", "r2:1"}}
	for name, c := range map[string]struct {
		run     sizetest.Run
		need    string
		verdict record.SizeVerdict
		want    string
	}{
		"invalid record":      {sizetest.Run{Rate: 1000, Findings: invalid}, "ops=5000", record.SizeUnknown, "client-cpu"},
		"a null target":       {sizetest.Run{Rate: 1000, Target: null}, "ops=5000", record.SizeUnknown, "stores nothing"},
		"another null target": {sizetest.Run{Rate: 1000, Findings: storesNothing}, "ops=5000", record.SizeUnknown, "stores nothing"},
		"routers only":        {sizetest.Run{Rate: 1000, Target: sharded}, "ops=5000", record.SizeUnknown, "--nodes"},
		"closed loop and p99": {sizetest.Run{Achieved: 1000}, "ops=5000,p99<20ms", record.SizeUnknown, "closed loop"},
		"closed loop, worse":  {sizetest.Run{Achieved: 1000}, "ops=5000,p99<5ms", record.SizeImpossible, "is missed"},
		"p99 missed":          {sizetest.Run{Rate: 1000}, "ops=5000,p99<5ms", record.SizeImpossible, "lower rate"},
		"schedule missed":     {sizetest.Run{Rate: 1000, Achieved: 900}, "ops=5000", record.SizeUnknown, "90.0 % of the 1,000/s"},
		"behind and late":     {sizetest.Run{Rate: 1000, Achieved: 900}, "ops=5000,p99<5ms", record.SizeUnknown, "lower rate"},
		"a hundredth failed":  {sizetest.Run{Rate: 1000, Achieved: 980, Errors: 0.02}, "ops=5000", record.SizeUnknown, "succeeded"},
		"too few for p99.99":  {sizetest.Run{Rate: 1000}, "ops=5000,p99.99<1s", record.SizeUnknown, "too few"},
		"no such class":       {sizetest.Run{Rate: 1000}, "ops=5000,scan.p99<1s", record.SizeUnknown, "no operation scan"},
		"errors":              {sizetest.Run{Rate: 1000, Errors: 0.01}, "ops=5000,errors<0.1%", record.SizeImpossible, "errors<0.1% is missed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := size(t, Input{Records: made(t, c.run), Need: need(t, c.need)})
			if s.Verdict != c.verdict || s.Answer != nil || !strings.Contains(strings.Join(s.Reasons, "\n"), c.want) {
				t.Errorf("verdict %s, reasons %q, answer %v; want %s with %q", s.Verdict, s.Reasons, s.Answer, c.verdict, c.want)
			}
		})
	}
}

// In a closed loop nobody waits in a queue, so its rate is used with a warning and only where no time is asked for.
func TestSizeFromClosedLoop(t *testing.T) {
	t.Parallel()
	s := size(t, Input{Records: made(t, sizetest.Run{Achieved: 1000}), Need: need(t, "ops=5000,errors<1%")})
	if s.Verdict != record.SizeAnswered || s.Workloads[0].Source != "closed" || s.Answer.Shards != 5 {
		t.Fatal(text(s))
	}
	for _, id := range []string{"closed-loop", "no-interval", "scaling-linear", "cache-unknown"} {
		if !slices.ContainsFunc(s.Validity, func(f measure.Finding) bool {
			return f.ID == id && f.Severity == measure.Warning
		}) {
			t.Errorf("there is no warning %s in %v", id, s.Validity)
		}
	}
}

// Of several rates the highest that holds is taken, and a closed loop only where nothing was offered.
func TestSizeTakesTheHighestRateThatHolds(t *testing.T) {
	t.Parallel()
	runs := slices.Concat(open(1000, sizetest.Run{}), open(2000, sizetest.Run{P99: 15 * time.Millisecond}),
		open(3000, sizetest.Run{P99: 30 * time.Millisecond}), []sizetest.Run{{Achieved: 9000}})
	dirs := made(t, runs...)
	for text, want := range map[string]float64{"ops=10000": 3000, "ops=10000,p99<20ms": 2000, "ops=10000,p99<12ms": 1000} {
		s := size(t, Input{Records: dirs, Need: need(t, text)})
		if w := s.Workloads[0]; s.Verdict != record.SizeAnswered || w.Source != "open" || w.Rate < 0.99*want || w.Rate > want {
			t.Errorf("%s is sized from %v (%s), want %v", text, w.Rate, w.Source, want)
		}
	}
}

func TestSizeOfWhatIsNoMongod(t *testing.T) {
	t.Parallel()
	s := size(t, Input{Records: made(t, sizetest.Run{Rate: 1000, Target: record.Target{Kind: "ferretdb"}}),
		Need: need(t, "data=1TiB"), Deployment: Deployment{Memory: 8 << 30}})
	if s.Verdict != record.SizeAnswered || !strings.Contains(text(s), "memory-of-mongod") || s.Answer.Shards < 100 {
		t.Error(text(s))
	}
	// Without operations there is nothing that they need, and no price by them.
	if w := s.Workloads[0]; w.Needed != nil || w.Assumption != "" || s.Answer.Decides != "memory" {
		t.Errorf("the workload is %+v, decided by %s", w, s.Answer.Decides)
	}
}

func TestSizeOfSeveralWorkloadsDoesForAll(t *testing.T) {
	t.Parallel()
	runs := append(open(10_000, sizetest.Run{Workload: "b"}), open(2000, sizetest.Run{Workload: "a"})...)
	s := size(t, Input{Records: made(t, runs...), Need: need(t, "ops=9000")})
	if len(s.Workloads) != 2 || s.Answer == nil || s.Answer.Shards != 5 {
		t.Fatal(text(s))
	}
}

// Memory decides where the data grow beyond what the cache held in the measurement.
func TestSizeByMemory(t *testing.T) {
	t.Parallel()
	// 2 million documents of 1,168 bytes are 2.2 GiB; the cache of 1 GiB holds a part of them.
	dirs := made(t, open(10_000, sizetest.Run{Records: 2_000_000, Target: mongod("1073741824")})...)
	s := size(t, Input{Records: dirs, Need: need(t, "ops=9000,data=20GiB")})
	if a := s.Answer; a == nil || a.Decides != "memory" || a.Shards < 8 || a.Shards > 10 || a.Cache != 1<<30 {
		t.Fatal(text(s))
	}
	if len(s.Alternatives) != 1 || s.Alternatives[0].Shards != 1 || s.Alternatives[0].Memory < 15<<30 {
		t.Errorf("the alternative with more memory is %+v", s.Alternatives)
	}
	m := s.Workloads[0].Memory
	if m == nil || m.Hit == nil || *m.Hit < 0.3 || *m.Hit > 0.9 || len(m.Course) != 8 {
		t.Fatalf("memory is %+v", m)
	}
	for i, p := range m.Course[1:] {
		if p.Hit > m.Course[i].Hit {
			t.Errorf("more data give a higher hit ratio: %+v", m.Course)
		}
	}
}

func prices() *spec.PriceList {
	return &spec.PriceList{Currency: "EUR", Date: "2026-11-01", Source: "test", Nodes: []spec.NodeType{
		{Name: "tiny", Cores: 2, Memory: 8 << 30, Disk: 1 << 40, Price: 50},
		{Name: "small", Cores: 8, Memory: 16 << 30, Disk: 100 << 30, Price: 200},
		{Name: "large", Cores: 16, Memory: 64 << 30, Disk: 2 << 40, Price: 900},
		{Name: "flash", Cores: 8, Memory: 16 << 30, Disk: 1 << 40, Price: 260},
	}}
}

func TestSizeWithPrices(t *testing.T) {
	t.Parallel()
	dirs := made(t, open(10_000, sizetest.Run{Records: 2_000_000, Target: mongod("1073741824")})...)
	s := size(t, Input{Records: dirs, Need: need(t, "ops=45000,data=300GiB,failures=0"), Prices: prices(), Deployment: Deployment{Cores: 8}})
	if s.Answer == nil || s.Answer.Price == nil {
		t.Fatal(text(s))
	}
	all := append([]record.SizeAnswer{*s.Answer}, s.Alternatives...)
	for i, a := range all {
		if i > 0 && a.Price.Month < all[i-1].Price.Month {
			t.Errorf("%s is cheaper than %s, which stands before it", a.Type, all[i-1].Type)
		}
		if diskTotal(*a.Parts) > a.Disk {
			t.Errorf("the data of a node do not fit on %s", a.Type)
		}
	}
	if len(s.Refused) != 1 || s.Refused[0].Type != "tiny" || !strings.Contains(s.Refused[0].Why, "2 cores") {
		t.Errorf("refused are %+v", s.Refused)
	}
	p := s.Answer.Price
	near(t, "price by rate", *p.PerRate, p.Month/45000, 0.01)
	near(t, "price of a million", *p.PerMillion, p.Month/45000/2629800*1e6, 0.01)
	if *p.PerRate < p.Month/45000*(1-1e-9) || *p.PerMillion < p.Month/45000/2629800*1e6*(1-1e-9) {
		t.Error("a price by operations was rounded down")
	}

	s = size(t, Input{Records: dirs, Need: need(t, "ops=45000"), Prices: prices(), Deployment: Deployment{Cores: 64}})
	if s.Verdict != record.SizeImpossible || !strings.Contains(strings.Join(s.Reasons, " "), "no node type") {
		t.Error(text(s))
	}
}

func TestUpToThree(t *testing.T) {
	for x, want := range map[float64]float64{0.012301: 0.0124, 0.0123: 0.0123, 1234: 1240, 1230: 1230, 999.1: 1000, 1: 1,
		0: 0, 5.001: 5.01, 123456: 124000} {
		if got := upToThree(x); got != want {
			t.Errorf("%v becomes %v, want %v", x, got, want)
		}
	}
}

// A disk that syncs slowly can make an objective impossible, and its batch can decide the number of shards.
func TestSizeByJournal(t *testing.T) {
	t.Parallel()
	durable := spec.Durability{Name: "durable"}
	dirs := made(t, open(2000, sizetest.Run{Workload: "a", Durability: durable, P99: 8 * time.Millisecond})...)
	in := Input{Records: dirs, Need: need(t, "ops=20000,p99<10ms"), Sync: 5 * time.Millisecond}
	s := size(t, in)
	if s.Answer == nil {
		t.Fatal(text(s))
	}
	j := s.Workloads[0].Journal
	// Half of 2,000/s and shard, ten times as many as syncs: evenly between one sync and two.
	if j == nil || j.Batch != 8 || j.Ceiling != 1600 || j.Mean < 7.4e6 || j.Mean > 7.5e6 || j.P99 < 9.8e6 ||
		j.P99 > 9.95e6 {
		t.Fatalf("the journal is %+v", j)
	}
	in.Sync = 0
	in.Probe = &record.Probe{Verdict: record.Suspicious,
		Journal: &record.ProbeJournalResult{Flush: &record.Latency{Count: 9, Mean: 5e6}, Square: 30e-6}}
	if s = size(t, in); s.Workloads[0].Journal == nil || s.Workloads[0].Journal.From != "probe" ||
		s.Workloads[0].Journal.Ceiling != 1600 || !strings.Contains(text(s), "suspicious") {
		t.Errorf("with a probe the journal is %+v", s.Workloads[0].Journal)
	}
	in.Probe = nil
	in.Sync = 6 * time.Millisecond
	if s = size(t, in); s.Verdict != record.SizeImpossible || !strings.Contains(strings.Join(s.Reasons, " "), "cannot hold, because the journal alone") {
		t.Error(text(s))
	}
	in.Sync, in.Batch = time.Millisecond, 0.5 // half a commit per sync: 500 durable commits per second and shard
	if s = size(t, in); s.Answer == nil || s.Answer.Decides != "journal" || s.Answer.Shards != 20 {
		t.Error(text(s))
	}
	counted := sizetest.Run{Workload: "a", Durability: durable, P99: 8 * time.Millisecond,
		Series: []record.Series{{Source: "server:a", Name: "log.sync_time", Unit: "ns", Mean: 3e6}, {Source: "server:b", Name: "log.sync_time", Unit: "ns", Mean: 4e6}}}
	if s = size(t, Input{Records: made(t, open(2000, counted)...), Need: in.Need}); s.Workloads[0].Journal == nil ||
		s.Workloads[0].Journal.Sync != 4e6 {
		t.Error("the servers' own count of their syncs is not used")
	}
	in.Records = made(t, open(2000, sizetest.Run{Workload: "a", P99: 8 * time.Millisecond,
		Durability: spec.Durability{Name: "balanced"}})...)
	if s = size(t, in); s.Workloads[0].Journal != nil || !strings.Contains(text(s), "journal-unused") {
		t.Error("writes that do not wait for the journal are limited by it")
	}
}

// The server's own count of pages read is held against the prediction.
func TestSizeChecksTheModelAgainstTheServer(t *testing.T) {
	t.Parallel()
	run := sizetest.Run{Rate: 1000, Records: 2_000_000, Target: mongod("1073741824")}
	s := size(t, Input{Records: made(t, run), Need: need(t, "ops=1000")})
	predicted := *s.Workloads[0].Memory.Misses
	for factor, off := range map[float64]bool{1.1: false, 0.9: false, 5: true, 0.05: true} {
		x := predicted * factor
		run.Series = []record.Series{
			{Source: "server:db.example:27017", Name: "cache.pages_read", Unit: "1/s", Mean: 100, PerOperation: &x},
			{Source: "server:db.example:27017", Name: "cache.pages_requested", Unit: "1/s", Mean: 5000},
			{Source: "host:db.example", Name: "cache.pages_read", Unit: "1/s", Mean: 1e9, PerOperation: &x},
		}
		s := size(t, Input{Records: made(t, run), Need: need(t, "ops=1000")})
		m := s.Workloads[0].Memory
		if m.MissesMeasured == nil || math.Abs(*m.MissesMeasured-x) > 1e-6 ||
			strings.Contains(text(s), "memory-model-off") != off || *m.HitServer != 0.98 {
			t.Errorf("%v times the predicted misses: %+v, %v", factor, m, s.Validity)
		}
	}
}

func TestSizeInputMistakes(t *testing.T) {
	t.Parallel()
	dirs := made(t, sizetest.Run{Rate: 1000})
	for want, in := range map[string]Input{
		"at least one record":      {Need: need(t, "ops=1")},
		"give the need":            {Records: dirs},
		"must not be negative":     {Records: dirs, Need: need(t, "ops=1"), Deployment: Deployment{Nodes: -1}},
		"cannot have shards of 3":  {Records: dirs, Need: need(t, "ops=1"), Deployment: Deployment{Nodes: 4, Copies: 3}},
		"too long for a disk":      {Records: dirs, Need: need(t, "ops=1"), Sync: time.Hour},
		"holds no record":          {Records: []string{t.TempDir()}, Need: need(t, "ops=1")},
		"nowhere does not exist":   {Records: []string{"nowhere"}, Need: need(t, "ops=1")},
		"elsewhere does not exist": {Records: dirs, Match: []string{"elsewhere"}},
	} {
		if _, err := Size(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// The brief's table, from records, through the whole of it.
func TestSizeMatches(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	var in Input
	in.Deployment.Nodes = 3
	for _, c := range brief {
		if c.workload == "d" { // its runs insert, which the made-up ones do not
			continue
		}
		for side, rate := range map[string]float64{"legacy": c.legacy, "ssd": c.ssd} {
			dir := filepath.Join(top, side, c.workload)
			if err := sizetest.WriteRun(dir, sizetest.Run{Workload: c.workload, Achieved: rate, Workers: 96,
				Target: record.Target{Topology: "sharded"}}); err != nil {
				t.Fatal(err)
			}
		}
		in.Records = append(in.Records, filepath.Join(top, "legacy", c.workload))
		in.Match = append(in.Match, filepath.Join(top, "ssd", c.workload))
	}
	s := size(t, in)
	if s.Verdict != record.SizeAnswered || len(s.Multipliers) != 4 {
		t.Fatal(text(s))
	}
	for i, c := range []int{0, 1, 2, 4} {
		m := s.Multipliers[i]
		if got := fmt.Sprintf("%.1f", m.Ratio); got != brief[c].multiplier || int(m.Nodes+0.5) != brief[c].nodes || m.Low != nil {
			t.Errorf("%s: multiplier %s and %v nodes", m.Workload, got, m.Nodes)
		}
	}
}

// TestGolden keeps the whole result of a question with everything in it.
func TestGolden(t *testing.T) {
	runs := append(open(10_000, sizetest.Run{Records: 2_000_000, Target: mongod("1073741824")}),
		open(4000, sizetest.Run{Workload: "a", Records: 2_000_000, Target: mongod("1073741824"),
			Durability: spec.Durability{Name: "durable"}})...)
	golden, err := filepath.Abs(filepath.Join("testdata", "size.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	s := size(t, Input{
		Records: madeIn(t, "", runs...), Need: need(t, "ops=45000,p99<20ms,data=300GiB,copies=3"), Prices: prices(),
		Deployment: Deployment{Cores: 8}, Sync: 2100 * time.Microsecond, Tool: record.Tool{Name: "plimsoll", Version: "1.2.3"},
	})
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the result changed (-update rewrites it):\n%s", d)
	}
}
