package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// studied is a study of workers and of classes of disks, whose throughput follows laws.
func studied(workers []int, disks ...string) Study {
	s := &record.Study{Base: spec.Run{Load: spec.Load{Workers: 8}, Workload: spec.Workload{Name: "a", Records: 1000}}}
	s.Specification.Lab = &spec.Lab{Hosts: spec.Hosts{Cores: 2}, Storage: spec.Storage{Device: "sata-ssd"}}
	s.Specification.Factors = []spec.Factor{{Path: "load.workers"}, {Name: "disk", Path: "lab.storage.device"}}
	at := func(workers int, disk string) float64 {
		f := factsOf(spec.Run{}, &spec.Lab{Storage: spec.Storage{Device: disk}})
		return float64(workers) / (0.0005 + f.Sync + 0.0001*float64(workers))
	}
	add := func(id, factor string, set map[string]any, x float64) {
		c := record.Configuration{ID: id, Factor: factor, Set: set, Levels: map[string]string{"workers": "8", "disk": "sata-ssd"}}
		for path, v := range set {
			c.Levels[map[string]string{"load.workers": "workers", "lab.storage.device": "disk"}[path]] = fmt.Sprint(v)
		}
		c.Baseline = id == "baseline"
		s.Configurations = append(s.Configurations, c)
		for i := range 3 {
			s.Trials = append(s.Trials, record.Trial{Configuration: id, Kind: record.TrialCompared, Status: record.TrialDone,
				Values: map[string]float64{"throughput": x * (1 + 0.01*float64(i-1))}})
		}
	}
	add("baseline", "", nil, at(8, "sata-ssd"))
	for _, n := range workers {
		add(fmt.Sprint("workers=", n), "workers", map[string]any{"load.workers": n}, at(n, "sata-ssd"))
	}
	for _, d := range disks {
		add("disk="+d, "disk", map[string]any{"lab.storage.device": d}, at(8, d))
	}
	return Study{"sweep", s}
}

func TestWhatIf(t *testing.T) {
	s := studied([]int{1, 2, 4, 16}, "hdd-7200", "hdd-10k", "azure-premium", "ebs-gp3", "nvme-plp")
	base := s.Baseline()
	for asked, c := range map[string]struct {
		want    float64 // times the baseline
		model   string
		refused string
		doubt   string
		nearest string
	}{
		"workers=8":             {want: 1, nearest: "baseline"},
		"workers=16":            {want: 2 * 3.325 / 4.125, model: "measured", nearest: "workers=16"},
		"workers=12":            {want: 1.5 * 3.325 / 3.725, model: "amdahl", nearest: "workers=16"},
		"threads=32":            {want: 4 * 3.325 / 5.725, model: "amdahl", doubt: "beyond-measured", nearest: "workers=16"},
		"disk=nvme":             {want: 3.325 / 2.203, model: "disk", nearest: "baseline"},
		"disk=nvme,workers=4":   {want: 3.325 / 2.203 * 0.5 * 3.325 / 2.925, doubt: "factors-independent", nearest: "workers=4"},
		"workers=1000":          {refused: "more than 2.00 times", nearest: "workers=16"},
		"members=5":             {refused: "no study varied it", nearest: "baseline"},
		"lab.hosts.cores=2":     {want: 1, nearest: "baseline"},
		"cores=4, w = majority": {refused: "path: durability.w", nearest: "baseline"},
	} {
		w, err := WhatIf([]Study{s}, asked, record.Tool{})
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		if w.Nearest.Configuration != c.nearest {
			t.Errorf("%s: nearest %s, want %s", asked, w.Nearest.Configuration, c.nearest)
		}
		if c.refused != "" {
			if w.Throughput != nil || !strings.Contains(strings.Join(w.Refused, "; "), c.refused) {
				t.Errorf("%s: %v, want it refused with %q", asked, w.Refused, c.refused)
			}
			continue
		}
		if c.doubt == "beyond-measured" { // no estimate, and a limit not far above
			if w.Throughput != nil || w.Low != nil || w.High == nil || *w.High < c.want*base || *w.High > 1.1*c.want*base ||
				w.Validity[0].ID != c.doubt {
				t.Errorf("%s: %+v, want a limit of %.0f", asked, w, c.want*base)
			}
			continue
		}
		if w.Throughput == nil {
			t.Errorf("%s: refused: %q", asked, w.Refused)
			continue
		}
		if x := *w.Throughput / base; math.Abs(x/c.want-1) > 0.03 || *w.Low > *w.Throughput || *w.High < *w.Throughput {
			t.Errorf("%s: %.3f times the baseline [%.0f, %.0f], want %.3f", asked, x, *w.Low, *w.High, c.want)
		}
		if c.model != "" && w.Changes[0].Basis != c.model {
			t.Errorf("%s: by %s, want %s", asked, w.Changes[0].Basis, c.model)
		}
		var ids []string
		for _, f := range w.Validity {
			ids = append(ids, f.ID)
		}
		if (c.doubt == "") != (len(ids) == 0) || c.doubt != "" && !slices.Contains(ids, c.doubt) {
			t.Errorf("%s: findings %v, want %q", asked, ids, c.doubt)
		}
	}
}

func TestWhatIfMistakes(t *testing.T) {
	for text, want := range map[string]string{"coers=4": "did you mean cores", "cores": "no key or no value",
		"disk=nvmee": "did you mean nvme", "cores=2,cores=4": "given twice", "": "no key or no value"} {
		if _, err := parseWhatIf(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The curve of a form has the same predictions as the command.
func TestCurve(t *testing.T) {
	s := studied([]int{1, 2, 4, 16})
	c, ok := s.Curve(&s.Specification.Factors[0])
	if !ok {
		t.Fatal("no curve")
	}
	if c.Now != 8 || c.At[0] != 1 || c.At[len(c.At)-1] != 16 {
		t.Errorf("from %v to %v around %v, want 1 to 16 around 8", c.At[0], c.At[len(c.At)-1], c.Now)
	}
	w, err := WhatIf([]Study{s}, fmt.Sprint("workers=", c.At[len(c.At)-2]), record.Tool{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Ratio[len(c.Ratio)-2]; math.Abs(got / *w.Changes[0].Ratio - 1) > 1e-9 {
		t.Errorf("ratio %v at the last size but one, the command has %v", got, *w.Changes[0].Ratio)
	}
	if _, ok := s.Curve(&s.Specification.Factors[1]); ok {
		t.Error("names have a curve")
	}
}
