package report_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// policySuite is the suite of recordtest, read as a user would.
func policySuite(t *testing.T) *report.Suite {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	if _, err := (recordtest.Suite{}).Write(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	return report.NewSuite(r, judge.PartIn(dir))
}

// suiteOf makes a suite of parts in memory.
func suiteOf(document string, parts ...judge.Part) *report.Suite {
	r := &record.Suite{Head: record.Head{Kind: record.KindSuite, Status: record.Complete}, Budget: record.BudgetFull,
		Specification: spec.Suite{Name: "x", Published: document}}
	for _, p := range parts {
		p.Part.Record = record.PartsDir + "/" + p.Name
		if p.Study == nil && p.Drill == nil && p.Probe == nil {
			p.Part.Record = ""
		}
		r.Parts = append(r.Parts, *p.Part)
	}
	return report.NewSuite(r, func(p *record.Part) (judge.Part, error) {
		i := slices.IndexFunc(parts, func(x judge.Part) bool { return x.Name == p.Name })
		return parts[i], nil
	})
}

func statement(t *testing.T, s *report.Suite, sweep, level, metric string) record.SuiteStatement {
	t.Helper()
	for _, x := range s.Record.Statements {
		if x.Sweep == sweep && x.Level == level && x.Metric == metric {
			return x
		}
	}
	t.Fatalf("no statement on %s of %s in %s", metric, level, sweep)
	return record.SuiteStatement{}
}

// Each word of an agreement, and why.
func TestStatementsOfADocument(t *testing.T) {
	s := policySuite(t)
	for _, c := range []struct {
		sweep, level, metric string
		want                 record.Agreement
		why                  string
	}{
		{"figure-3", "192", "throughput", record.Agrees, "within the margin of the document's ratio"},
		{"figure-3", "192", "update.mean", record.SameDirection, "smaller here"},
		{"figure-3", "224", "update.mean", record.NotMeasured, "skipped: to be done in ten minutes"},
		{"figure-3", "32", "throughput", record.OnlyDrawn, ""},
		{"figure-3", "32 → 256", "throughput", record.Agrees, "rises here"},
		{"figure-7", "16C+64GB", "throughput", record.Disagrees, "no relevant difference here"},
		{"figure-7", "16C+96GB", "throughput", record.NotMeasured, "does not have this level"},
		{"figure-7", "16C+128GB", "throughput", record.Disagrees, "the opposite here"},
		{"figure-7", "32GB → 128GB", "read.mean", record.Agrees, "falls here"},
		{"figure-7", "8 cores → 16 cores", "read.mean", record.Undecided, "of 2 pairs"},
		{"figure-21", "enabled", "throughput", record.Undecided, "excludes the document's ratio"},
		{"figure-21", "enabled", "update.mean", record.Disagrees, "the opposite here"},
		{"figure-21", "disabled → enabled", "read.mean", record.Disagrees, "rises here"},
		{"table-7", "rs=1, host", "outage", record.Agrees, "interrupted, in the document and here"},
		{"table-7", "rs=1, disk", "outage", record.NotMeasured, "no space left"},
		{"table-7", "rs=3, host", "outage", record.NotMeasured, "no part is this level"},
		{"figure-11", "2", "update.mean", record.NotMeasured, "there is no mongod here"},
		{"figure-11", "2 → 8", "throughput", record.NotMeasured, "there is no mongod here"},
	} {
		got := statement(t, s, c.sweep, c.level, c.metric)
		if got.Agreement != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s, %s, %s: %s (%s), want %s (%s)", c.sweep, c.level, c.metric, got.Agreement, got.Why, c.want, c.why)
		}
	}
	sum, drawn := 0, 0
	for _, n := range s.Record.Counts {
		sum += n
	}
	for _, x := range s.Record.Statements {
		if !x.Counted() {
			drawn++
		}
	}
	if sum+drawn != len(s.Record.Statements) || drawn == 0 {
		t.Errorf("%d counted and %d not, of %d", sum, drawn, len(s.Record.Statements))
	}
	if got := statement(t, s, "figure-7", "16C+32GB", "throughput"); len(got.Contradictions) == 0 ||
		!strings.Contains(strings.Join(got.Doubts, " "), "114,546 is less") {
		t.Errorf("the contradiction of the document is missing: %+v", got)
	}
}

func TestAdviceOfADocument(t *testing.T) {
	found := map[string]string{}
	for _, a := range policySuite(t).Record.Advice {
		found[a.Says] = string(a.Found) + ": " + a.Why
	}
	for says, want := range map[string]record.AdviceWorth{
		"use a proper number of client threads because more lead to higher latency": record.AdviceHolds,
		"leave the checksum on": record.AdviceUndecided,
		"choose cores and memory by the requirements; memory helps more than cores":   record.AdviceUndecided,
		"always use sharding to distribute workloads across several virtual machines": record.AdviceNotMeasured,
		"follow the MongoDB Production Notes":                                         record.AdviceNotMeasured,
		"plan the database size and the required performance before the deployment":   record.AdviceNotMeasured,
	} {
		if !strings.HasPrefix(found[says], string(want)+": ") {
			t.Errorf("%s: %s, want %s", says, found[says], want)
		}
	}
	disagree := recordtest.Sweeps("s", "b", recordtest.Factor{Name: "checksum",
		Levels: []recordtest.Level{{Name: "disabled"}, {Name: "enabled", Ratios: map[string]float64{"throughput": 1.4, "update.mean": 0.5}}}})
	s := suiteOf("policy-storage", judge.Part{Part: &record.Part{Name: "s", Kind: record.KindStudy,
		Status: record.PartDone, Shows: []string{"figure-21"}}, Study: disagree})
	if i := slices.IndexFunc(s.Record.Advice, func(a record.SuiteAdvice) bool {
		return a.Says == "leave the checksum on"
	}); s.Record.Advice[i].Found != record.AdviceDoesNot {
		t.Errorf("%+v", s.Record.Advice[i])
	}
}

// The multipliers of the brief on SSDs are the ratios of the studies, and the servers three times as many. The
// arithmetic of package capacity gives the same from the trials of both levels, with an interval that overlaps.
func TestMultipliersAndEquivalentServers(t *testing.T) {
	ssd := func(workload string, ratio float64) judge.Part {
		study := recordtest.Sweeps("w-"+workload, workload,
			recordtest.Factor{Name: "disks", Levels: []recordtest.Level{{Name: "HDD"},
				{Name: "SSD", Ratios: map[string]float64{"throughput": ratio}}}})
		return judge.Part{Part: &record.Part{Name: "w-" + workload, Kind: record.KindStudy, Status: record.PartDone,
			Shows: []string{"table-1"}}, Study: study}
	}
	a := ssd("a", 8.75)
	s := suiteOf("ssd-vs-disk", a, ssd("b", 4))
	for _, c := range []struct {
		sweep, level, metric, found string
		want                        record.Agreement
	}{
		{"multipliers", "A", "multiplier", "×8.75 [8.50, 9.01]", record.Agrees}, {"multipliers", "B", "multiplier", "×4.00 [3.88, 4.12]", record.SameDirection},
		{"multipliers", "C", "multiplier", "", record.NotMeasured}, {"figure-1", "A", "nodes", "26.3 [25.5, 27.0] servers", record.Agrees},
		{"figure-1", "B", "nodes", "12.0 [11.7, 12.4] servers", record.SameDirection}, {"table-1-a", "SSD", "throughput", "", record.Agrees},
	} {
		got := statement(t, s, c.sweep, c.level, c.metric)
		if got.Agreement != c.want || got.Found != c.found {
			t.Errorf("%s, %s: %s, %q, want %s, %q", c.sweep, c.level, got.Agreement, got.Found, c.want, c.found)
		}
	}
	values := map[string][]float64{}
	for _, trial := range a.Study.Trials {
		values[trial.Configuration] = append(values[trial.Configuration], trial.Values["throughput"])
	}
	m, err := capacity.Multiply(values["baseline"], values["disks=SSD"], 3, nil)
	if err != nil || m.Nodes.High < 25.5 || m.Nodes.Low > 27.0 || math.Abs(m.Nodes.N-26.25) > 1 {
		t.Errorf("package capacity has %+v, %v", m.Nodes, err)
	}
}

// Drills that are one level each are held against the one that is the document's baseline, by rounds.
func TestFailoversAreRatiosToTheirOwnBaseline(t *testing.T) {
	drill := func(name, level string, outages []float64, records int64, members int) judge.Part {
		d := &record.Drill{Head: record.Head{Kind: record.KindDrill, Status: record.Complete}, Verdict: record.Holds,
			Outages: &record.Spread{Unit: "ns", Values: outages}, Losses: &record.Spread{Values: []float64{0}}}
		for i := range outages {
			d.Rounds = append(d.Rounds, record.DrillRound{Number: i + 1, Members: members, Seeds: 2, SeedsFound: 2,
				Ledger: &record.LedgerResult{Acknowledged: records + int64(i)}})
		}
		return judge.Part{Part: &record.Part{Name: name, Kind: record.KindDrill, Status: record.PartDone,
			Shows: []string{"results"}, Level: level}, Drill: d}
	}
	s := suiteOf("failover", drill("one", "re-attached disk", []float64{20e9, 20.4e9, 20.2e9}, 1000, 1),
		drill("two", "replicated volume", []float64{5e9, 5.1e9, 5.05e9}, 3195, 1),
		drill("three", "replica set", []float64{30e9}, 900, 3), drill("rest", "re-attached disk", []float64{40e9}, 1, 1))
	for _, c := range []struct {
		level, metric string
		want          record.Agreement
	}{
		{"replicated volume", "outage", record.Agrees}, {"replicated volume", "records", record.Agrees}, {"replicated volume", "members", record.Agrees},
		{"replica set", "outage", record.Undecided}, {"replica set", "members", record.Agrees},
	} {
		if got := statement(t, s, "results", c.level, c.metric); got.Agreement != c.want {
			t.Errorf("%s of %s: %s (%s), want %s", c.metric, c.level, got.Agreement, got.Why, c.want)
		}
	}
	var b strings.Builder
	if err := report.Write(&b, s, "md"); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(b.String(), "<details>")
	if strings.Contains(first, "20.2 s") || strings.Contains(first, "20.0 s") || !strings.Contains(first, "6 of 6 documents from before the load are present") {
		t.Errorf("measured seconds are next to those of the document, or the seeds are missing:\n%s", first)
	}
}

// What drills used stands side by side, for each acknowledged write; parts that were loaded in another way have a
// baseline of their own.
func TestWhatDrillsUsed(t *testing.T) {
	drill := func(name, level, via string, cpu, service float64, writes int64) judge.Part {
		d := &record.Drill{Head: record.Head{Kind: record.KindDrill, Status: record.Complete}, Verdict: record.Holds,
			Rounds: []record.DrillRound{{Number: 1, Members: 1, CPUSeconds: cpu,
				ServiceCPUSeconds: service, ClientCPUSeconds: 1, WrittenBytes: 1 << 20,
				Ledger: &record.LedgerResult{Acknowledged: writes}}}}
		p := &record.Part{Name: name, Kind: record.KindDrill, Status: record.PartDone, Shows: []string{"results", "resources"}, Level: level}
		if via != "" {
			p.Set = map[string]any{"via": via}
		}
		return judge.Part{Part: p, Drill: d}
	}
	s := suiteOf("failover", drill("disk-rest", "re-attached disk", "rest", 10, 4, 1000), drill("volume-rest", "replicated volume", "rest", 10, 4, 2000),
		drill("set-rest", "replica set", "rest", 40, 8, 2000), drill("disk", "re-attached disk", "", 9, 0, 1000))
	var b strings.Builder
	if err := report.Write(&b, s, "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### resources used by the drills", "| disk-rest | re-attached disk | 1 | 1,000 | 10.0 s | 10.0 ms | 1.00 MiB | 1.02 KiB | 4.00 ms | 1.00 ms |",
		"| set-rest | replica set | 1 | 2,000 | 40.0 s | 20.0 ms (×2.00) |", "| 4.00 ms (×1.00) |", "| disk | re-attached disk | 1 | 1,000 | 9.00 s | 9.00 ms |", "| - | 1.00 ms |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	for from, want := range map[string]float64{"re-attached disk": 2, "replicated volume": 4} {
		got := statement(t, s, "resources", from+" → replica set", "cpu")
		if got.Agreement != record.Undecided || got.Ratio == nil || math.Abs(*got.Ratio-want) > 1e-9 || got.Low != nil ||
			!strings.Contains(got.Why, "one round of each") {
			t.Errorf("the words on processors, from %s: %+v", from, got)
		}
	}
}

// A ramp of threads is held against its own first step, with a tenth up and down for an interval.
func TestThreadRampsOfVolumes(t *testing.T) {
	probe := func(name string, shows []string, rates ...float64) judge.Part {
		p := &record.Probe{Head: record.Head{Kind: record.KindProbe, Status: record.Complete},
			Ramps: []record.ProbeRamp{{Operation: "mixed", Threads: 2, Gain: 0.1}}}
		for i, rate := range rates {
			p.Steps = append(p.Steps, record.ProbeStep{Profile: spec.ProbeRandom, Operation: "mixed", Threads: 1 << i,
				Rate: rate, BytesRate: rate * 4096,
				Devices: []record.ProbeDevice{{Name: "md0", Reads: 7, Writes: 7}, {Name: "loop7", Reads: rate / 2, Writes: rate,
					WriteKB: rate * 4, Flushes: rate / 4, FlushCount: 9, Util: 98}}})
		}
		p.Storage.Devices = []record.ProbeBlock{{Name: "md0"}, {Name: "loop7", Leaf: true}}
		p.Durability = []record.ProbeDurability{{Grade: "C", Verdict: record.Honest, Text: "all 300 records were there"}}
		return judge.Part{Part: &record.Part{Name: name, Kind: record.KindProbe, Status: record.PartDone, Shows: shows},
			Probe: p}
	}
	parts := []judge.Part{probe("on-ext4", []string{"ext4"}, 1000, 1400, 1420, 900),
		probe("on-xfs", []string{"xfs", "volumes"}, 1000, 2000, 3000, 4000),
		probe("on-btrfs", []string{"md", "volumes"}, 1000, 3000, 5000, 7400)}
	out := judge.Part{Part: &record.Part{Name: "by-md", Kind: record.KindProbe, Status: record.PartLeft,
		Problem: "no md here", Shows: []string{"md", "volumes"}, Level: "striped md"}}
	s := suiteOf("storage-io", append([]judge.Part{out}, parts...)...)
	for _, c := range []struct {
		sweep, level string
		want         record.Agreement
	}{
		{"ext4", "2", record.Compatible}, {"ext4", "8", record.Disagrees}, {"ext4", "16", record.NotMeasured}, {"ext4", "2 → the most", record.Disagrees},
		{"volumes", "striped md", record.Compatible}, {"volumes", "striped lvm", record.NotMeasured},
	} {
		if got := statement(t, s, c.sweep, c.level, "throughput"); got.Agreement != c.want {
			t.Errorf("%s, %s: %s (%s), want %s", c.sweep, c.level, got.Agreement, got.Why, c.want)
		}
	}
	i := slices.IndexFunc(s.Figures, func(f report.SuiteFigure) bool { return f.Name == "ext4" })
	if text := strings.Join(s.Figures[i].Lines, "\n"); !strings.Contains(text, "more than 2 threads do not help; in the document, more than 2 threads did not") {
		t.Errorf("where threads stop gaining: %s", text)
	} else if want := "on-ext4, devices with 8 threads: loop7 busy 98.0 % of the time, 2.00 writes per read, 4.00 KiB per write, 0.250 flushes per write. " +
		"In the document: xvdc busy 98.2 % of the time, 2.00 writes per read, 2.00 KiB per write"; !strings.Contains(text, want) {
		t.Errorf("devices: got %s\nwant %s", text, want)
	}
	for _, f := range s.Figures {
		want := "on-btrfs was measured instead of by-md, which was skipped: no md here"
		if has := slices.Contains(f.Lines, want); has != (f.Name == "md" || f.Name == "volumes") {
			t.Errorf("%s says %q: %v", f.Name, want, has)
		}
	}
	for says, want := range map[string]record.AdviceWorth{"use XFS": record.AdviceNotMeasured, "set up a RAID 0 with md or LVM": record.AdviceHolds} {
		if i := slices.IndexFunc(s.Record.Advice, func(a record.SuiteAdvice) bool {
			return a.Says == says
		}); s.Record.Advice[i].Found != want {
			t.Errorf("%s: %s (%s), want %s", says, s.Record.Advice[i].Found, s.Record.Advice[i].Why, want)
		}
	}
	if text := report.Of(s).Parts[1].Finding; !strings.Contains(text, "honest: all 300 records were there") {
		t.Errorf("the result of the power cut is missing: %s", text)
	}
}

// A document that states times of single calls is held against the mean of many; what has no baseline is not stated.
func TestTimesOfCalls(t *testing.T) {
	study := recordtest.Sweeps("latency", "location",
		recordtest.Factor{Name: "write concern", Levels: []recordtest.Level{{Name: "w1"}, {Name: "w0", Ratios: map[string]float64{"insert.mean": 0.5}}}})
	s := suiteOf("write-concern", judge.Part{Part: &record.Part{Name: "latency", Kind: record.KindStudy,
		Status: record.PartDone, Shows: []string{"write-concern"}}, Study: study},
		judge.Part{Part: &record.Part{Name: "power", Kind: record.KindDrill, Status: record.PartDone, Level: "w=0",
			Shows: []string{"write-concern"}},
			Drill: &record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Holds,
				Losses: &record.Spread{Values: []float64{0, 3}, Max: 3}}},
		judge.Part{Part: &record.Part{Name: "members", Kind: record.KindStudy, Status: record.PartLeft, Problem: "no engine",
			Shows: []string{"replication"}}})
	if n := len(s.Figures[0].Statements); n != 4 || !strings.Contains(strings.Join(s.Figures[0].Lines, " "), "w=0 (power): holds, up to 3 acknowledged writes lost in a round, in 1 of 2 rounds") {
		t.Errorf("%d statements, the lines of the drill are %q", n, s.Figures[0].Lines)
	}
	if got := statement(t, s, "write-concern", "w=0", "insert.min"); got.Agreement != record.Agrees || got.Measure != "insert.mean" {
		t.Errorf("%+v", got)
	}
	if got := statement(t, s, "replication", "w=3", "insert.mean"); got.Agreement != record.NotStated || len(got.Contradictions) == 0 {
		t.Errorf("%+v", got)
	}
}

// A suite without a document, with one that is not known, and with a part that cannot be read is shown all the same.
func TestSuitesThatLackSomething(t *testing.T) {
	for document, want := range map[string]string{"": "1 of 1 part", "nonsense": "no published document"} {
		r := &record.Suite{Head: record.Head{Status: record.Running},
			Specification: spec.Suite{Name: "x", Published: document}, Budget: record.BudgetSmoke,
			Parts: []record.Part{{Name: "p", Kind: "study", Status: record.PartDone, Record: "parts/p"}}}
		s := report.NewSuite(r, func(*record.Part) (judge.Part, error) { return judge.Part{}, io.ErrUnexpectedEOF })
		var b bytes.Buffer
		if err := report.Write(&b, s, "md"); err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{want, "cannot be read: it ended too early", "prove nothing", "running"} {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%q: no %q in\n%s", document, w, b.String())
			}
		}
	}
}

var update = flag.Lookup("update")

func TestGoldenSuite(t *testing.T) {
	s := policySuite(t)
	var md, table bytes.Buffer
	if err := report.Write(&md, s, "md"); err != nil {
		t.Fatal(err)
	}
	if err := report.Write(&table, s, "csv"); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(table.Bytes())).ReadAll()
	if err != nil || len(rows) != len(s.Record.Statements)+1 {
		t.Errorf("%d rows of CSV for %d statements, %v", len(rows), len(s.Record.Statements), err)
	}
	first, _, _ := strings.Cut(md.String(), "<details>") // the parts have golden files of their own
	for name, got := range map[string]string{"suite.md": first, "suite.csv": table.String()} {
		path := filepath.Join("testdata", name)
		if update != nil && update.Value.String() == "true" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got, -update rewrites it):\n%.3000s", name, d)
		}
	}
	if !strings.Contains(md.String(), "<summary>client-b: ") || measure.Worst(s.Record.Validity) == measure.Invalid {
		t.Error("the parts are not folded below")
	}
}

// The first thing that is said of a suite is what the document says most strongly of each figure, with what was
// measured.
func TestHeadlinesOfASuite(t *testing.T) {
	s := policySuite(t)
	var lines []string
	for _, p := range report.Of(s).Findings {
		lines = append(lines, p.String())
		if strings.HasSuffix(p.Text, ": "+string(record.NotMeasured)) {
			t.Errorf("nothing was measured of %s", p.Mark)
		}
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"✓ figure 3, workload B: client threads 192, ops/s: there +20.2 %, here +19.0 % [+15.5 %, +22.6 %]: agrees", "rs=1, host: there about 120 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
