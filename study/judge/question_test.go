package judge

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// turns keeps six runs of each side, in turns, the second side being slower by 20 %, and compares them.
func turns(t *testing.T, o CompareOptions, change ...func(*record.Run)) *record.ComparisonReport {
	t.Helper()
	top := t.TempDir()
	var dirs []string
	for side, f := range change {
		dir := filepath.Join(top, string(rune('a'+side)))
		for i, scatter := range []float64{1, 1.01, 0.99, 1.005, 0.995, 1} {
			r := faster(scatter*(1-0.2*float64(side)), time.Duration(i)*time.Hour+time.Duration(side)*30*time.Minute)
			r.Target.Address, r.Target.Version, r.Environment.Host = "mongodb://db/", "8.0.1", "client"
			f(r)
			keep(t, filepath.Join(dir, string(rune('0'+i))), r)
		}
		dirs = append(dirs, dir)
	}
	return compareDirs(t, o, dirs...)
}

func about(r *record.ComparisonReport) (list []string) {
	for _, d := range r.Differences {
		if d.Compared {
			list = append(list, d.What)
		}
	}
	return list
}

func same0(*record.Run) {}

// onLab is a run on a lab with so many cores for each host.
func onLab(cores float64, version string, size spec.Size) func(*record.Run) {
	return func(r *record.Run) {
		l := spec.Lab{Name: "one", Hosts: spec.Hosts{Cores: cores}, Storage: spec.Storage{Size: size}}
		l.Defaults()
		r.Lab = &record.Lab{Name: "one", Specification: l, Version: version}
		r.Target.Hosts = []string{"10.0.0.1:" + version}
		r.Target.Topology = version
	}
}

// honest are differences of one thing: it is what is compared, and a difference is found.
var honest = map[string]struct {
	a, b  func(*record.Run)
	about []string
}{
	"nothing that is recorded": {same0, same0, nil},
	"a durability": {same0, func(r *record.Run) {
		r.Specification.Durability.Name, r.Specification.Durability.Journal = "balanced", ptr(false)
	}, []string{"durability.journal", "durability.name"}},
	"workers": {same0, func(r *record.Run) { r.Specification.Load.Workers = 32 }, []string{"load.workers"}},
	"a client, with its settings": {same0, func(r *record.Run) {
		r.Specification.Client, r.ClientSettings = "driver", map[string]string{"client": "driver", "pool": "100"}
	}, []string{"client", "client_settings.client", "client_settings.pool"}},
	"cores of a lab":          {onLab(1, "8.0", 0), onLab(2, "8.0", 0), []string{"lab.hosts.cores"}},
	"the engine of a lab":     {onLab(1, "8.0", 0), onLab(1, "9.0", 0), []string{"lab.version"}},
	"the version of a server": {same0, func(r *record.Run) { r.Target.Version = "8.0.4" }, []string{"target.version"}},
	"a deployment": {same0, func(r *record.Run) {
		r.Target.Address, r.Target.Version = "mongodb://other/", "8.0.4"
	}, []string{"target.address", "target.version"}},
	"another machine for the client": {same0, func(r *record.Run) { r.Environment.Host = "client-2" }, []string{"environment.host"}},
	"a name":                         {same0, func(r *record.Run) { r.Target.SetName, r.Specification.Database = "rs1", "other" }, nil},
}

func TestCompareNamesWhatIsCompared(t *testing.T) {
	for name, c := range honest {
		t.Run(name, func(t *testing.T) {
			r := turns(t, CompareOptions{}, c.a, c.b)
			got := about(r)
			slices.Sort(got)
			if !slices.Equal(got, c.about) {
				t.Errorf("compared %q, want %q: %+v", got, c.about, r.Differences)
			}
			x := cellOf(r, r.Sides[1].Name, "throughput")
			if measure.Worst(r.Validity) == measure.Invalid || x.Verdict != record.Worse || r.WouldTell != "" {
				t.Errorf("%s, findings %+v, would tell %q", x.Verdict, r.Validity, r.WouldTell)
			}
			if again := turns(t, CompareOptions{}, c.a, c.a); len(about(again)) > 0 || len(again.Differences) > 0 {
				t.Errorf("equal sides differ: %+v", again.Differences)
			}
		})
	}
}

// A setting was changed, and something else with it: no difference is traced to the setting. Both can be compared on
// purpose, together.
func TestCompareFindsASecondDifference(t *testing.T) {
	setting := func(r *record.Run) { r.Specification.Durability.Name = "balanced" }
	for name, second := range map[string]func(*record.Run){
		"environment.host":           func(r *record.Run) { r.Environment.Host = "client-2" },
		"environment.cpu":            func(r *record.Run) { r.Environment.CPU = "another" },
		"environment.kernel":         func(r *record.Run) { r.Environment.Kernel = "6.1" },
		"workload.records":           func(r *record.Run) { r.Specification.Workload.Records = 2000 },
		"data.records":               func(r *record.Run) { r.Fill = &record.FillResult{Records: 2000} },
		"workload.params.fieldcount": func(r *record.Run) { r.Specification.Workload.Params = map[string]string{"fieldcount": "20"} },
		"target.version":             func(r *record.Run) { r.Target.Version = "8.0.4" },
		"target.address":             func(r *record.Run) { r.Target.Address = "mongodb://other/" },
		"target.settings.cache":      func(r *record.Run) { r.Target.Settings = map[string]string{"cache": "1 GiB"} },
		"tool.version":               func(r *record.Run) { r.Tool.Version = "1.1.0" },
		"load.workers":               func(r *record.Run) { r.Specification.Load.Workers = 32 },
		"client":                     func(r *record.Run) { r.Specification.Client = "driver" },
		"scheduled":                  func(r *record.Run) { r.Scheduled = false },
	} {
		t.Run(name, func(t *testing.T) {
			both := func(r *record.Run) { setting(r); second(r) }
			r := turns(t, CompareOptions{}, same0, both)
			i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "not-comparable" })
			if i < 0 || !strings.Contains(r.Validity[i].Text, name) || !strings.Contains(r.Validity[i].Text, "durability.name") {
				t.Fatalf("findings %+v", r.Validity)
			}
			if len(about(r)) > 0 || r.WouldTell != "" {
				t.Errorf("compared %q, would tell %q", about(r), r.WouldTell)
			}
			for _, x := range r.Comparisons {
				if x.Verdict != record.Inconclusive {
					t.Errorf("%s is %s", x.Metric, x.Verdict)
				}
			}
			r = turns(t, CompareOptions{Varied: []string{"durability", name}}, same0, both)
			if x := cellOf(r, r.Sides[1].Name, "throughput"); x.Verdict != record.Worse || len(about(r)) != 2 {
				t.Errorf("although both were varied on purpose: %s, %+v", x.Verdict, r.Validity)
			}
		})
	}
	r := turns(t, CompareOptions{}, onLab(1, "8.0", 0), onLab(2, "9.0", 0))
	if !hasFinding(r.Validity, "not-comparable", measure.Invalid) {
		t.Errorf("another engine beside other cores: %+v", r.Differences)
	}
	if r = turns(t, CompareOptions{}, onLab(1, "8.0", 1<<30), onLab(2, "8.0", 2<<30)); len(about(r)) > 0 {
		t.Errorf("two settings of a lab: %+v", r.Differences)
	}
}

// Runs that did not alternate tell nothing. The command that would tell is named: that of the same two runs, or the
// later one again where the records do not say what was changed.
func TestCompareNamesWhatWouldTell(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record.Run)
		want   string
	}{
		"a setting":     {func(r *record.Run) { r.Specification.Durability.Name = "balanced" }, "plimsoll ab A B"},
		"a lab":         {onLab(2, "8.0", 0), "plimsoll ab A B"},
		"a deployment":  {func(r *record.Run) { r.Target.Address = "mongodb://other/" }, "plimsoll ab A B"},
		"a version":     {func(r *record.Run) { r.Target.Version = "8.0.4" }, "plimsoll run -f B --repeat 5"},
		"nothing known": {same0, "plimsoll run -f B --repeat 5"},
		"another load":  {func(r *record.Run) { r.Specification.Workload.Name = "b" }, ""},
	} {
		top := t.TempDir()
		first, second := measured(), faster(0.5, time.Hour)
		if name == "a lab" {
			onLab(1, "8.0", 0)(first)
		}
		c.change(second)
		a, b := keep(t, filepath.Join(top, "a"), first), keep(t, filepath.Join(top, "b"), second)
		r := compareDirs(t, CompareOptions{}, a, b)
		want := strings.NewReplacer("A B", a+" "+b, "-f B", "-f "+b).Replace(c.want)
		if r.WouldTell != want || r.Comparisons[0].Verdict != record.Inconclusive {
			t.Errorf("%s: %q, want %q", name, r.WouldTell, want)
		}
	}
}

// Every weight has the form of the table: a reason, except of what is a setting or a circumstance by itself.
func TestWeights(t *testing.T) {
	for path, w := range weights {
		if w.why == "" && path != "" {
			t.Errorf("%s has no reason", path)
		}
	}
	for path, want := range map[string]string{"workload.params.x": "other operations on other data", "durability.w": "", "lab.hosts.cores": "",
		"load.rate": ""} {
		if got := Forbids(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
