package published

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func documents(t *testing.T) []*Source {
	t.Helper()
	all, err := Documents()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func document(t *testing.T, name string) *Source {
	t.Helper()
	s, err := Document(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every numbered figure and table of the documents is there, in the order of its number.
func TestItemsAreComplete(t *testing.T) {
	numbered := map[string][]string{"policy-storage": append(numbers("table", 7), numbers("figure", 37)...),
		"ssd-vs-disk": {"table 1", "figure 1"}, "write-concern": nil, "failover": nil, "storage-io": nil}
	for _, s := range documents(t) {
		var have []string
		for _, item := range s.Items {
			if kind, _, ok := strings.Cut(item.Item, " "); ok && (kind == "figure" || kind == "table") && item.Item[len(kind)+1] <= '9' {
				have = append(have, item.Item)
			}
		}
		if diff := cmp.Diff(numbered[s.Name], have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Name, diff)
		}
		for _, item := range s.Items {
			if used := s.uses(item.Item); used != (item.Holds == "text" || item.Holds == "table" || item.Holds == "output") {
				t.Errorf("%s: %s holds %q, but figures of it are here: %v", s.Name, item.Item, item.Holds, used)
			}
		}
	}
}

func numbers(kind string, last int) []string {
	var all []string
	for i := range last {
		all = append(all, kind+" "+strconv.Itoa(i+1))
	}
	return all
}

// uses says whether a value or a sweep stands in an item.
func (s *Source) uses(item string) bool {
	for _, sweep := range s.Sweeps {
		if sweep.Item == item {
			return true
		}
		for _, l := range sweep.Levels {
			for _, v := range l.Values {
				if v.Place.Item == item {
					return true
				}
			}
		}
	}
	return slices.ContainsFunc(s.Facts, func(f Fact) bool { return f.Item == item })
}

// What issue and pages speak of is there, with its factor, its levels and both workloads where there are two.
func TestSweepsAreComplete(t *testing.T) {
	s := document(t, "policy-storage")
	for first, factor := range map[int]string{2: "client threads", 4: "operation count", 6: "cores and memory", 8: "records", 10: "data servers",
		12: "replica set and w", 14: "stripe width", 16: "mirror or parity", 18: "durability", 20: "checksum", 22: "device of the cache tier"} {
		for i, workload := range []string{"a", "b"} {
			found := s.Figure(fmt.Sprintf("figure %d", first+i))
			if len(found) != 1 || found[0].Workload != workload || !strings.HasPrefix(found[0].Factor, factor) ||
				len(found[0].Metrics) != 3 {
				t.Errorf("figure %d: found %v, want the factor %q in workload %s", first+i, found, factor, workload)
			}
		}
	}
	for name, sweeps := range map[string]int{"policy-storage": 25, "write-concern": 4, "ssd-vs-disk": 7, "failover": 2, "storage-io": 8} {
		if s := document(t, name); len(s.Sweeps) != sweeps {
			t.Errorf("%s has %d sweeps, want %d", name, len(s.Sweeps), sweeps)
		}
	}
}

// Each figure has a place and reads as it is written, unless it says why not.
func TestEachFigureHasItsPlace(t *testing.T) {
	for _, s := range documents(t) {
		for path, v := range s.everything() {
			if v.Place.Section == "" || !slices.Contains([]string{"text", "table", "output"}, v.Place.How) {
				t.Errorf("%s: %s has no place: %v", s.Name, path, v.Place)
			}
			if n, err := strconv.ParseFloat(strings.ReplaceAll(v.Written, ",", ""), 64); (err != nil || n != v.Number) &&
				v.Note == "" {
				t.Errorf("%s: %s is %v but written %q, without a note", s.Name, path, v.Number, v.Written)
			}
			if got, found := s.Value(path); !found || got != v {
				t.Errorf("%s: the path %s leads to %v", s.Name, path, got)
			}
		}
	}
}

// everything is all figures by their paths.
func (s *Source) everything() map[string]Value {
	all := map[string]Value{}
	for _, b := range s.Baselines {
		for metric, v := range b.Values {
			all[b.ID+"/"+metric] = v
		}
	}
	for _, sweep := range s.Sweeps {
		for _, l := range sweep.Levels {
			for metric, v := range l.Values {
				all[sweep.ID+"/"+l.Name+"/"+metric] = v
			}
		}
	}
	for _, f := range s.Facts {
		all[f.ID] = f.Value
	}
	return all
}

// Percentages and multipliers are recomputed from the documents' own figures, each to its last written digit; those
// that do not follow are exactly those that a contradiction names.
func TestClaimsAreRecomputed(t *testing.T) {
	claims := 0
	for _, s := range documents(t) {
		for _, c := range s.Claims {
			claims++
			result, follows, err := s.Recompute(c)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if follows != (c.Wrong == "") {
				t.Errorf("%s: %s states %s of %s, computed %.2f: follows is %v, named contradiction %q", s.Name, c.Item, c.Stated, c.To, result, follows, c.Wrong)
			}
			if c.Wrong != "" && (s.Contradiction(c.Wrong) == nil || s.Contradiction(c.Wrong).Kind != "number") {
				t.Errorf("%s: no contradiction %q of numbers", s.Name, c.Wrong)
			}
		}
	}
	if claims < 40 {
		t.Errorf("only %d claims", claims)
	}
}

// Little's law: operations a second times their mean time are the operations under way, which in a closed loop are the
// threads. Clients do a little between two operations, so that up to 5% of the threads may be missing; more than the
// threads cannot be, beyond the rounding of the figures. Where a level breaks that, a contradiction names it.
func TestLittlesLaw(t *testing.T) {
	checked, broken := map[string]bool{}, map[string]bool{}
	for _, s := range documents(t) {
		for _, sweep := range s.Sweeps {
			for _, l := range sweep.Levels {
				underWay, ok := s.Little(sweep, l.Name)
				if !ok || l.Workers == 0 {
					continue
				}
				checked[sweep.ID+"/"+l.Name] = true
				if share := underWay / float64(l.Workers); share < 0.95 || share > 1.01 {
					broken[sweep.ID+"/"+l.Name] = true
					t.Logf("%s/%s: %.1f operations under way with %d threads", sweep.ID, l.Name, underWay, l.Workers)
				}
			}
		}
	}
	if len(checked) < 24 {
		t.Errorf("only checked at %v", slices.Sorted(maps.Keys(checked)))
	}
	if diff := cmp.Diff(map[string]bool{"figure-22/NVMe": true}, broken); diff != "" {
		t.Errorf("levels that break the law (-want +got):\n%s", diff)
	}
	if d := document(t, "policy-storage").Doubts("figure-22/NVMe/update.mean"); len(d) != 1 || d[0].ID != "cache-tier-update" {
		t.Errorf("the level that breaks the law has the contradictions %v", d)
	}
}

// The contradictions are these and no others: who finds one more adds it here with its reason in the data.
func TestContradictions(t *testing.T) {
	want := map[string][]string{
		"policy-storage": {"cache-tier-gain", "cache-tier-update", "more-cores-increase", "disks-of-a-host", "size-of-the-data", "threads-of-every-client",
			"caption-of-figure-9", "caption-of-figure-21", "text-of-figure-23", "parity-and-reads", "acknowledgements-of-a-set", "durable-without-majority", "outage-of-a-set"},
		"write-concern": {"unit-of-replication", "three-times-faster", "chance-of-loss", "small-data"},
		"ssd-vs-disk":   {"more-threads"},
		"failover":      {"improvement-in-records", "two-rivals-in-one-title", "members-and-replicas", "efficiency"},
		"storage-io":    {"devices-of-iostat", "reads-of-xfs", "more-than-rated", "parity-of-ten", "as-fast-as-md"},
	}
	for _, s := range documents(t) {
		var have []string
		for _, c := range s.Contradictions {
			have = append(have, c.ID)
			if c.Why == "" || c.Use == "" || len(c.Says) == 0 || !slices.Contains([]string{"number", "unit", "caption", "statement"}, c.Kind) {
				t.Errorf("%s: %s is not explained", s.Name, c.ID)
			}
			for _, says := range c.Says {
				if says.Text == "" || says.Section == "" {
					t.Errorf("%s: %s: a statement without text or place", s.Name, c.ID)
				}
			}
			for _, path := range c.Figures {
				if _, found := s.Value(path); !found {
					t.Errorf("%s: %s is about %s, which does not exist", s.Name, c.ID, path)
				}
			}
		}
		if diff := cmp.Diff(want[s.Name], have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Name, diff)
		}
	}
}

// A direction that is said in words agrees with the figures, where both ends are stated, and names real metrics.
func TestTrendsAgreeWithFigures(t *testing.T) {
	for _, s := range documents(t) {
		for _, sweep := range s.Sweeps {
			for _, trend := range sweep.Trends {
				if !slices.Contains(sweep.Metrics, trend.Metric) || trend.Words == "" ||
					!slices.Contains([]string{"rises", "falls", "steady", "unclear"}, trend.Goes) {
					t.Errorf("%s: %s: not a trend: %+v", s.Name, sweep.ID, trend)
				}
				from, known := sweep.Value(trend.From, trend.Metric)
				to, alsoKnown := sweep.Value(trend.To, trend.Metric)
				if !known || !alsoKnown || from.Bound != "" || to.Bound != "" {
					continue
				}
				if rises, falls := to.Number > from.Number, to.Number < from.Number; trend.Goes == "rises" && !rises ||
					trend.Goes == "falls" && !falls {
					t.Errorf("%s: %s: %+v, but %s and %s are stated", s.Name, sweep.ID, trend, from, to)
				}
			}
		}
	}
}

// mongoperf works with 4 KiB at a time and cuts its MB/s off: the two columns must agree to the digit.
func TestBandwidthFollowsFromOperations(t *testing.T) {
	checked := 0
	for _, sweep := range document(t, "storage-io").Sweeps {
		for _, l := range sweep.Levels {
			ops, ok := l.Values["throughput"]
			mb, also := l.Values["bandwidth"]
			if !ok || !also {
				continue
			}
			if checked++; math.Floor(ops.Number*4/1024) != mb.Number {
				t.Errorf("%s/%s: %s and %s", sweep.ID, l.Name, ops, mb)
			}
		}
	}
	if checked != 31 {
		t.Errorf("%d lines of mongoperf, want 31", checked)
	}
}

// What iostat counts below is what mongoperf did above: every read is one of 4 KiB, the two disks of the stripe make up
// the volume, and on ext4 half of the writes carry nothing, as flushes do, which would explain its ceiling.
func TestDeviceAccountingAddsUp(t *testing.T) {
	s := document(t, "storage-io")
	get := func(device, metric string) float64 {
		t.Helper()
		v, found := s.Value("devices/" + device + "/" + metric)
		if !found {
			t.Fatalf("no %s of %s", metric, device)
		}
		return v.Number
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got/want-1) > tolerance {
			t.Errorf("%s: %.1f, want %.1f", what, got, want)
		}
	}
	for _, l := range s.Sweep("devices").Levels {
		near(l.Name+": sectors of a read", get(l.Name, "device.sectors.read")/get(l.Name, "device.reads"), 8, 0.01)
	}
	for _, metric := range []string{"device.reads", "device.writes", "device.sectors.read", "device.sectors.written"} {
		near("both disks: "+metric, get("lvm xvdb", metric)+get("lvm xvdc", metric), get("lvm dm-0", metric), 0.015)
	}
	near("ext4: writes for each read", get("ext4 xvdc", "device.writes")/get("ext4 xvdc", "device.reads"), 2, 0.001)
	near("ext4: sectors of a write", get("ext4 xvdc", "device.sectors.written")/get("ext4 xvdc", "device.writes"), 4, 0.001)
	for device, sweep := range map[string]string{"xfs xvdb": "xfs", "lvm dm-0": "lvm"} {
		probe, _ := s.Value(sweep + "/1024/throughput")
		near(device+": operations", get(device, "device.reads")+get(device, "device.writes"), probe.Number, 0.03)
	}
}

// More records than the users submitted cannot have been written: 50 users at the end of a ramp over five minutes.
func TestRecordsWereSubmitted(t *testing.T) {
	s := document(t, "failover")
	number := func(id string) float64 {
		v, found := s.Value(id)
		if !found {
			t.Fatalf("no fact %q", id)
		}
		return v.Number
	}
	submitted := number("users") / 2 * number("writes-of-a-user") * number("duration") * 60
	for _, l := range s.Sweep("results").Levels {
		if n := l.Values["records"].Number; n > submitted {
			t.Errorf("%s: %v records of %v", l.Name, n, submitted)
		}
	}
}
