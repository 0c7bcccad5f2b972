package disk

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// In a time that is made up, where a flush takes 2 ms exactly, the group commit does what the model says: S alone, 2S −
// e among others.
func TestGroupCommitFollowsModel(t *testing.T) {
	for _, clients := range []int{2, 4, 16, 64} {
		for _, think := range []time.Duration{0, 500 * time.Microsecond} {
			synctest.Test(t, func(t *testing.T) {
				const flush = 2 * time.Millisecond
				g := newGroup()
				var stop atomic.Bool
				var group sync.WaitGroup
				h := measure.NewHistogram()
				var mu sync.Mutex
				for range clients {
					group.Go(func() {
						for !stop.Load() {
							begin := time.Now()
							g.commit()
							mu.Lock()
							h.Record(int64(time.Since(begin)))
							mu.Unlock()
							time.Sleep(think)
						}
					})
				}
				group.Go(func() {
					for !stop.Load() {
						<-g.wake
						for {
							n, done := g.begin()
							if n == 0 {
								done()
								break
							}
							time.Sleep(flush)
							done()
							if stop.Load() {
								break
							}
						}
					}
				})
				time.Sleep(2 * time.Second)
				stop.Store(true)
				g.close()
				select {
				case g.wake <- struct{}{}:
				default:
				}
				group.Wait()
				want := modelLatency(clients, flush, think)
				if got := h.Mean(); math.Abs(got/float64(want)-1) > 0.05 {
					t.Errorf("%d clients, think %v: %v, the model says %v", clients, think, time.Duration(got), want)
				}
			})
		}
	}
}

func TestModel(t *testing.T) {
	const s = 2 * time.Millisecond
	if r := 64 / (modelLatency(64, s, time.Millisecond) + time.Millisecond).Seconds(); math.Abs(r-16000) > 1e-6 {
		t.Errorf("64 clients do %v commits/s, want C/(2S) for any e", r)
	}
	m := majority(s, 2*s, []record.ProbePeer{{Flush: int64(time.Millisecond), RTT: int64(500 * time.Microsecond)},
		{Flush: int64(9 * time.Millisecond)}})
	if m.Members != 3 || m.Needed != 2 || m.One != int64(s) || m.Many != int64(2*s) || m.Decided != "this one" {
		t.Errorf("%+v", m)
	}
	if majority(s, s, nil) != nil {
		t.Error("a majority of one")
	}
}

// closedLoop plays clients of a server whose processor takes work for each commit, and returns their mean commit.
func closedLoop(clients int, flush func() float64, work float64) (mean float64) {
	arrivals, sum, n := make([]float64, clients), 0.0, 0
	for now, processor := 0.0, 0.0; n < 400_000; {
		now = max(now, slices.Min(arrivals))
		end := now + flush()
		for i, at := range arrivals {
			if at <= now {
				sum += end - at
				n++
				processor = max(processor, end) + work
				arrivals[i] = processor
			}
		}
		now = end
	}
	return sum / float64(n)
}

// What is expected of j:true is what a real server showed, and what clients of such a server show that is played: with
// flushes that all take the same, and with those behind a token bucket.
func TestExpectedFromDistribution(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	// of the server: 13,000 commits/s where the disk is no limit
	const fast, slow, share, work = 0.2e-3, 97e-3, 0.08, 75e-6
	bimodal := func() float64 {
		if random.Float64() < share {
			return slow
		}
		return fast
	}
	for _, c := range []struct {
		name     string
		flush    func() float64
		expected time.Duration
		measured map[int]float64 // ms, by the number of clients
		near     float64
	}{
		{"constant", func() float64 { return 5.4e-3 }, expectedOf(t, 5.4e-3), map[int]float64{2: 10.88, 4: 10.99, 16: 11.46,
			32: 11.88}, 0.12},
		{"bimodal", bimodal, expectedOf(t, repeated(fast, 92, slow, 8)...), map[int]float64{32: 51, 128: 68}, 0.25},
	} {
		for clients, measured := range c.measured {
			if off := c.expected.Seconds()*1e3/measured - 1; math.Abs(off) > c.near {
				t.Errorf("%s, %d clients: %v is expected, a server showed %v ms", c.name, clients, c.expected, measured)
			}
			if played := closedLoop(clients, c.flush, work) * 1e3; math.Abs(played/measured-1) > 0.3 {
				t.Errorf("%s, %d clients: %v ms were played, a server showed %v ms", c.name, clients, played, measured)
			}
		}
	}
	// Few clients that come back at once are the other limit: two flushes, whatever their distribution.
	if played := closedLoop(4, bimodal, 10e-6) * 1e3; math.Abs(played/17-1) > 0.3 {
		t.Errorf("4 clients: %v ms were played, a server showed 17 ms", played)
	}
}

// expectedOf is what a probe concludes from these flushes, in seconds.
func expectedOf(t *testing.T, flushes ...float64) time.Duration {
	t.Helper()
	h := measure.NewHistogram()
	for _, s := range flushes {
		h.Record(int64(s * 1e9))
	}
	r := &record.ProbeJournalResult{}
	p := &probe{spec: &record.ProbeSpec{}}
	p.concludeJournal(r, &record.ProbeStep{Clients: 1}, map[string]*measure.Histogram{"flush": h})
	return time.Duration(r.Many)
}

// repeated are some times of one value and some of another.
func repeated(a float64, n int, b float64, m int) []float64 {
	return append(slices.Repeat([]float64{a}, n), slices.Repeat([]float64{b}, m)...)
}

func TestCourse(t *testing.T) {
	seconds := func(rates ...int64) (list []record.ProbeSecond) {
		for i, r := range rates {
			list = append(list, record.ProbeSecond{At: int64(i) * 1e9, Length: 1e9, Bytes: r})
		}
		return list
	}
	fast := []int64{1000, 1020, 990, 1005, 1010, 995, 1000, 1015, 990, 1000}
	slow := []int64{200, 201, 199, 200, 200, 201, 200, 199, 200, 201}
	step := &record.ProbeStep{BytesRate: 600}
	r := findDrop(seconds(append(append([]int64{}, fast...), slow...)...), step)
	if !r.Fell || r.At != 10e9 || r.After != 10025 || math.Abs(r.Ceiling-200.1) > 0.2 || r.Like != "burst credits" {
		t.Errorf("%+v", r)
	}
	if r := findDrop(seconds(append(append(append([]int64{}, fast...), slow...), fast...)...), step); r.Fell {
		t.Errorf("a dip was taken for a fall: %+v", r)
	}
	if r := findDrop(seconds(fast...), step); r.Fell || r.Ceiling != 600 {
		t.Errorf("%+v", r)
	}
}

func TestPlausible(t *testing.T) {
	disk := func(b record.ProbeBlock) record.ProbeBlock { b.Name, b.Kind = "x", "disk"; return b }
	for name, c := range map[string]struct {
		b    record.ProbeBlock
		sync time.Duration
		want record.ProbeVerdict
	}{
		"disk that is a cache": {disk(record.ProbeBlock{Bus: "scsi", Rotational: true, WriteCache: "write back"}), 300 * time.Microsecond, record.Suspicious},
		"disk": {disk(record.ProbeBlock{Bus: "scsi", Rotational: true, WriteCache: "write back"}),
			12 * time.Millisecond, record.Honest},
		"fast flash": {disk(record.ProbeBlock{Bus: "nvme", WriteCache: "write back"}), 12 * time.Microsecond, record.Suspicious},
		"flash":      {disk(record.ProbeBlock{Bus: "nvme", WriteCache: "write back"}), 700 * time.Microsecond, record.Honest},
		"protected":  {disk(record.ProbeBlock{Bus: "nvme", WriteCache: "write through"}), 12 * time.Microsecond, record.NotProvable},
		"virtual": {disk(record.ProbeBlock{Bus: "virtio", Rotational: true, WriteCache: "write back"}),
			300 * time.Microsecond, record.NotProvable},
		"virtual, unsafe": {disk(record.ProbeBlock{Bus: "virtio", Rotational: true, WriteCache: "write back"}),
			10 * time.Microsecond, record.Suspicious},
	} {
		if got, text := plausible(c.b, syncTimes{median: c.sync, mean: c.sync}); got != c.want || text == "" {
			t.Errorf("%s: %s, %s", name, got, text)
		}
	}
}

func TestOverall(t *testing.T) {
	d := func(grade string, verdict record.ProbeVerdict) record.ProbeDurability {
		return record.ProbeDurability{Grade: grade, Verdict: verdict}
	}
	for want, list := range map[record.ProbeVerdict][]record.ProbeDurability{
		record.Lying:       {d("A", record.Honest), d("B", record.Suspicious), d("C", record.Lying)},
		record.Suspicious:  {d("A", record.Honest), d("B", record.Suspicious)},
		record.Honest:      {d("A", record.Honest), d("B", record.NotProvable)},
		record.NotProvable: {d("A", record.NotProvable), d("B", record.Honest)},
	} {
		if got, _ := overall(list); got != want {
			t.Errorf("%+v: %s", list, got)
		}
	}
}

func TestObjectives(t *testing.T) {
	p99 := int64(8e6)
	p := &record.Probe{Specification: record.ProbeSpec{Objectives: []string{"p99<10ms", "flush.p99<5ms", "read.rate>100", "commit.p99<1s"}},
		Steps: []record.ProbeStep{{Operation: Commit, Clients: 1, Flush: &record.Latency{P99: &p99}},
			{Operation: Read, Rate: 99}}}
	judge(p)
	if len(p.Objectives) != 4 || !p.Objectives[0].Met || p.Objectives[1].Met || p.Objectives[2].Met ||
		!p.Objectives[3].Unknown {
		t.Errorf("%+v", p.Objectives)
	}
	for _, bad := range []string{"scan.p99<1s", "errors<1%", "p99"} {
		if _, err := ParseObjectives(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// Steps of two probes in one process leave it as the first one found it, in whatever order they end.
func TestUndisturbedIsUndone(t *testing.T) {
	places, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	first := undisturbed(places + 3)
	second := undisturbed(2)
	if got := runtime.GOMAXPROCS(0); got < places+5 {
		t.Errorf("%d places for %d threads", got, places+5)
	}
	first()
	second()
	if got := runtime.GOMAXPROCS(0); got != places {
		t.Errorf("%d places are left of %d", got, places)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the collector is left at %d", got)
	}
}

// A stall counts as long as nobody was acknowledged, from when somebody waited, and short pauses do not count.
func TestStall(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ due, begin, now, want time.Duration }{
		{0, 0, 100 * ms, 0}, {0, 0, 250 * ms, 250 * ms},
		{0, 90 * ms, 110 * ms, 0}, // waited for 110 ms, but somebody was acknowledged after 90 ms
		{200 * ms, 0, 350 * ms, 150 * ms},
	} {
		if got := stall(c.due, c.begin, c.now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	b := &burst{windows: []window{{from: 10 * ms, to: 20 * ms}, {from: 50 * ms}}}
	for _, c := range []struct {
		from, to time.Duration
		want     bool
	}{{0, 9 * ms, false}, {5 * ms, 25 * ms, true}, {12 * ms, 13 * ms, true}, {20 * ms, 49 * ms, false},
		{60 * ms, 61 * ms, true}} {
		if got := b.during(c.from, c.to); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Every class has a place, and a result is in exactly one.
func TestClasses(t *testing.T) {
	last := time.Duration(0)
	for _, c := range classes() {
		if c.Below <= last || c.Name == "" || c.Use == "" || c.Provenance == "" {
			t.Errorf("%+v", c)
		}
		at := int64(last)
		if got := classOf(&record.ProbeJournalResult{Flush: &record.Latency{Count: 1, Mean: float64(at), P50: &at}},
			&record.Probe{Verdict: record.Honest}); got == nil || got.Name != c.Name {
			t.Errorf("%v is %+v, not %s", last, got, c.Name)
		}
		last = c.Below
	}
}

// onDisk is a filesystem on one disk that must flush.
func onDisk(change func(*record.ProbeStorage)) record.ProbeStorage {
	s := record.ProbeStorage{Filesystem: "xfs", Devices: []record.ProbeBlock{{Name: "sda", Kind: "disk",
		WriteCache: "write back", FlushCounted: true, Leaf: true}}}
	if change != nil {
		change(&s)
	}
	return s
}

// A sync without a flush is a lie whatever others do. Flushes of others in most pauses hide one; memory, unseen storage
// and devices without counters are never honest.
func TestGradeA(t *testing.T) {
	for name, c := range map[string]struct {
		bare, foreign int64
		change        func(*record.ProbeStorage)
		want          record.ProbeVerdict
	}{
		"quiet":             {0, 0, nil, record.Honest},
		"others":            {0, 60, nil, record.Honest},
		"others, always":    {0, 95, nil, record.NotProvable},
		"one dropped":       {1, 0, nil, record.Suspicious},
		"swallowed":         {97, 0, nil, record.Lying},
		"swallowed, others": {10, 95, nil, record.Lying},
		"memory":            {0, 0, func(s *record.ProbeStorage) { s.Memory = []string{"tmpfs below loop0"} }, record.NotProvable},
		"unseen":            {0, 0, func(s *record.ProbeStorage) { s.Unseen = []string{"the server"} }, record.NotProvable},
		"no cache":          {0, 0, func(s *record.ProbeStorage) { s.Devices[0].WriteCache = "write through" }, record.NotProvable},
		"no counters":       {0, 0, func(s *record.ProbeStorage) { s.Devices[0].FlushCounted = false }, record.NotProvable},
		"no counters below": {0, 0, func(s *record.ProbeStorage) {
			s.Devices[0].Leaf = false
			s.Devices = append(s.Devices, record.ProbeBlock{Name: "vda", Above: []string{"sda"}, Leaf: true,
				WriteCache: "write through"})
		}, record.NotProvable},
		"no device": {0, 0, func(s *record.ProbeStorage) { s.Devices = nil }, record.NotProvable},
	} {
		storage := onDisk(c.change)
		layers := layersOf(storage)
		for _, l := range layers {
			l.syncs, l.bare, l.pauses, l.foreign = 100, c.bare, 100, c.foreign
		}
		if got := gradeA(storage, layers, 100); got.Verdict != c.want || got.Text == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Devices are grouped by depth, those of the user stand alone, and all data pass each cut.
func TestLayers(t *testing.T) {
	block := func(name string, leaf bool, above ...string) record.ProbeBlock {
		return record.ProbeBlock{Name: name, Leaf: leaf, Above: above, WriteCache: "write back", FlushCounted: true}
	}
	list := []record.ProbeBlock{block("dm-0", false), block("sda1", false, "dm-0"), block("sda", true, "sda1", "sda2"),
		block("md0", false, "dm-0"), block("sda2", false, "md0"), block("sdb", true, "md0")}
	want := [][]string{{"dm-0"}, {"sda1", "md0"}, {"sda1", "sda2", "sdb"}, {"sda", "sdb"}}
	if d := cmp.Diff(want, cutsOf(list)); d != "" {
		t.Error(d)
	}
	list[3].NoCounters = true
	if got := cutsOf(list); len(got) != 3 {
		t.Errorf("a device without counters is in a cut: %v", got)
	}
	given := block("sdc", true)
	given.Given = true
	var names []string
	for _, l := range layersOf(record.ProbeStorage{Devices: append(list, given)}) {
		names = append(names, strings.Join(l.devices, "+"))
	}
	if d := cmp.Diff([]string{"dm-0", "sda1+md0", "sda", "sda2+sdb", "sdc"}, names); d != "" {
		t.Error(d)
	}
}

// What a device must have seen of a step, and what it says if it did not.
func TestReached(t *testing.T) {
	step := func(op, mode, sync string) record.ProbeStep {
		return record.ProbeStep{Profile: spec.ProbeRandom, Operation: op, Mode: mode, Sync: sync, Block: 4096,
			Bytes: 100 * 4096, Reads: &record.Latency{Count: 60}, Writes: &record.Latency{Count: 40}}
	}
	for name, c := range map[string]struct {
		step                  record.ProbeStep
		readBytes, writeBytes int64
		found                 bool
	}{
		"all read":             {step(Read, files.Direct, ""), 409600, 0, false},
		"read from a cache":    {step(Read, files.Direct, ""), 4096, 0, true},
		"page cache":           {step(Read, files.Buffered, ""), 0, 0, false},
		"all written":          {step(Write, files.Direct, SyncData), 0, 819200, false},
		"not written":          {step(Write, files.Buffered, SyncData), 0, 4096, true},
		"written to the cache": {step(Write, files.Buffered, SyncNone), 0, 0, false},
		"mixed":                {step(Mixed, files.Direct, SyncData), 60 * 4096, 40 * 4096, false},
		"mixed, read only":     {step(Mixed, files.Direct, SyncData), 60 * 4096, 0, true},
		"mapped":               {step(Mixed, files.Mapped, ""), 0, 0, false},
	} {
		c.step.Devices = []record.ProbeDevice{{Name: "sda", ReadBytes: c.readBytes, WriteBytes: c.writeBytes}}
		p := &probe{out: &record.Probe{Storage: onDisk(nil)}, spec: &record.ProbeSpec{}}
		if p.doubtReached(c.step); found(p.out, "not-on-device") != c.found {
			t.Errorf("%s: %+v", name, p.out.Validity)
		}
	}
}

// Only a power cut that lost something is one.
func TestPowerCutNeedsAControl(t *testing.T) {
	for name, c := range map[string]struct {
		missing, loose, discarded int64
		want                      record.ProbeVerdict
	}{
		"records lost":          {3, 0, 0, record.Lying},
		"nothing lost":          {0, 0, 0, record.NotProvable},
		"unsynced records gone": {0, 1, 0, record.Honest},
		"the disk discarded":    {0, 0, 12, record.Honest},
	} {
		d := record.ProbeDurability{Acknowledged: 300, Missing: c.missing, Loose: c.loose, Discarded: c.discarded}
		if judgePower(&d, "before a power cut"); d.Verdict != c.want || d.Text == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// The words about the use of storage follow from the verdict.
func TestUseFollowsFromVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		verdict  record.ProbeVerdict
		findings []measure.Finding
		suitable bool
	}{
		"honest":       {record.Honest, nil, true},
		"lying":        {record.Lying, nil, false},
		"suspicious":   {record.Suspicious, nil, false},
		"invalid":      {record.Honest, []measure.Finding{{ID: "x", Severity: measure.Invalid}}, false},
		"not provable": {record.NotProvable, nil, true},
	} {
		p := &record.Probe{Verdict: c.verdict, Head: record.Head{Validity: c.findings},
			Specification: record.ProbeSpec{Objectives: []string{"flush.p50<10ms"}},
			Steps:         []record.ProbeStep{{Operation: Commit, Clients: 1, Flush: &record.Latency{P50: new(int64)}}}}
		class := classOf(&record.ProbeJournalResult{Flush: &record.Latency{Count: 100, Mean: 1e5}}, p)
		says := strings.Contains(class.Text, "; suitable for j:true")
		if says != c.suitable || (class.Name != "") != c.suitable ||
			(c.verdict == record.NotProvable) != strings.Contains(class.Text, "not proven") {
			t.Errorf("%s: %q, %s", name, class.Name, class.Text)
		}
		if judge(p); p.Objectives[0].Met != c.suitable || p.Objectives[0].Unknown == c.suitable {
			t.Errorf("%s: %+v", name, p.Objectives)
		}
	}
}

// The kernel's mean of all flushes may be larger than the median of the syncs, so the text does not compare them.
func TestSyncTimesWords(t *testing.T) {
	b := record.ProbeBlock{Name: "vda", Kind: "disk"}
	_, got := plausible(b, syncTimes{123 * time.Microsecond, 1100 * time.Microsecond, 1040 * time.Microsecond})
	want := "half of the syncs took 123 µs or less, the mean was 1.10 ms; the mean of all flushes of vda, including those of " +
		"other programs, was 1.04 ms. That is plausible for a device of this kind"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, got = plausible(b, syncTimes{median: time.Millisecond, mean: time.Millisecond})
	if strings.Contains(got, "vda") {
		t.Errorf("a device without counters is named: %s", got)
	}
}
