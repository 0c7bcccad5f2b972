package published

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// listing prints a document in full: a change of the data is read as a change of this text.
func listing(s *Source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)\n", s.Name, s.Title, s.Publisher)
	for _, sweep := range s.Sweeps {
		fmt.Fprintf(&b, "\n%s  %s %s, baseline %q\n  %s\n", sweep.ID, sweep.Factor, sweep.Workload, sweep.Baseline, sweep.Place)
		for _, l := range sweep.Levels {
			fmt.Fprintf(&b, "  %-18s", l.Name)
			for _, metric := range sweep.Metrics {
				fmt.Fprintf(&b, " %s", cell(sweep, l.Name, metric))
			}
			b.WriteString("\n")
		}
		for _, trend := range sweep.Trends {
			fmt.Fprintf(&b, "  %s %s from %s to %s: %s\n", trend.Metric, trend.Goes, trend.From, trend.To, trend.Words)
		}
	}
	fmt.Fprint(&b, "\nfacts\n")
	for _, f := range s.Facts {
		fmt.Fprintf(&b, "  %s: %s (%s)\n", f.Says, f.Value, f.Place)
	}
	fmt.Fprint(&b, "\nclaims\n")
	for _, c := range s.Claims {
		result, follows, _ := s.Recompute(c)
		fmt.Fprintf(&b, "  %s %s of %s: %.4g computed, follows %v %s\n", c.Stated, c.Of, c.To, result, follows, c.Wrong)
	}
	fmt.Fprint(&b, "\nadvice\n")
	for _, a := range s.Advice {
		fmt.Fprintf(&b, "  %s %v\n", a.Says, a.RestsOn)
		if a.But != "" {
			fmt.Fprintf(&b, "    but %s\n", a.But)
		}
	}
	fmt.Fprint(&b, "\ncontradictions\n")
	for _, c := range s.Contradictions {
		fmt.Fprintf(&b, "  %s (%s)\n    %s\n    use: %s\n", c.ID, c.Kind, strings.TrimSpace(c.Why), c.Use)
	}
	return b.String()
}

func cell(s *Sweep, level, metric string) string {
	v, stated := s.Value(level, metric)
	if !stated {
		return metric + "=drawn"
	}
	if ratio, ok := s.Ratio(level, metric); ok {
		return fmt.Sprintf("%s=%s (%.3f)", metric, v, ratio)
	}
	return fmt.Sprintf("%s=%s", metric, v)
}

func TestListing(t *testing.T) {
	for _, s := range documents(t) {
		name, got := "testdata/"+s.Name+".golden.txt", listing(s)
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got, -update rewrites it):\n%s", name, diff)
		}
	}
}

// Every file in data/ is a document, named as its file.
func TestEveryFileIsADocument(t *testing.T) {
	entries, err := files.ReadDir("data")
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, e := range entries {
		have = append(have, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	for _, s := range documents(t) {
		want = append(want, s.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("documents and files (-documents +files):\n%s", diff)
	}
}

const small = `name: x
title: X
publisher: Y
units: {throughput: ops/s}
`

func TestMistakesAreRefused(t *testing.T) {
	for what, text := range map[string]string{
		"not found in type":           small + "author: Z\n",
		"title and publisher":         "name: x\n",
		"has no unit":                 small + "sweeps: [{id: a, levels: [{name: 1, values: {latency: 3}}]}]\n",
		"is not a figure":             small + "sweeps: [{id: a, levels: [{name: 1, values: {throughput: many}}]}]\n",
		"which is not a sweep":        small + "advice: [{says: do it, rests_on: [figure-9]}]\n",
		"a figure has no key":         small + "sweeps: [{id: a, levels: [{name: 1, values: {throughput: {is: 3, was: 4}}}]}]\n",
		"there is no baseline":        small + "sweeps: [{id: a, levels: [{name: 1, as: other}]}]\n",
		"is not one of its levels":    small + "sweeps: [{id: a, baseline: 2, levels: [{name: 1}]}]\n",
		"is there twice":              small + "sweeps: [{id: a, levels: [{name: 1}]}, {id: a, levels: [{name: 1}]}]\n",
		`"a/8c" is there twice`:       small + "sweeps: [{id: a, levels: [{name: 8C}, {name: 8 c}]}]\n",
		`"fact " is there twice, or `: small + "facts: [{value: 3}, {value: 4}]\n",
	} {
		if _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got the error %v", what, err)
		}
	}
	if _, err := read(strings.NewReader(small)); err != nil {
		t.Error(err)
	}
}

func TestValuesAreRead(t *testing.T) {
	text := small + `sweeps:
  - {id: a, baseline: one, metrics: [throughput], levels: [
      {name: one, values: {throughput: "17,680"}}, {name: two, values: {throughput: about 120}},
      {name: three, values: {throughput: {is: "28.529", number: 28529, note: a slip}}}, {name: four}]}
`
	s, err := read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sweep := s.Sweep("a")
	for level, want := range map[string]string{"one": "17,680 ops/s", "two": "about 120 ops/s", "three": "28.529 ops/s", "Four": "not stated"} {
		got := "not stated"
		if v, stated := sweep.Value(level, "throughput"); stated {
			got = v.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", level, got, want)
		}
	}
	if r, ok := sweep.Ratio("three", "throughput"); !ok || math.Abs(r-28529.0/17680) > 1e-12 {
		t.Errorf("ratio %v %v", r, ok)
	}
	if r, ok := sweep.Ratio("four", "throughput"); ok {
		t.Errorf("a level without value has the ratio %v", r)
	}
	if diff := cmp.Diff([]string{"throughput"}, sweep.Unstated("four")); diff != "" {
		t.Error(diff)
	}
	if got := slices.Sorted(maps.Keys(s.everything())); len(got) != 3 {
		t.Errorf("figures: %v", got)
	}
}

func TestSelect(t *testing.T) {
	for ref, want := range map[string][]string{
		"failover":                            {"results", "resources"},
		"policy-storage/figure-2":             {"figure-2"},
		"policy-storage/figure 2, figure-3":   {"figure-2", "figure-3"},
		"ssd-vs-disk/table-1":                 {"table-1-a", "table-1-b", "table-1-c", "table-1-d", "table-1-f"},
		"ssd-vs-disk/table-1-d":               {"table-1-d"},
		"storage-io/output-xfs,storage-io/md": nil,
	} {
		_, sweeps, err := Select(ref)
		var got []string
		for _, s := range sweeps {
			got = append(got, s.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (want == nil) {
			t.Errorf("%s: %v (-want +got)\n%s", ref, err, diff)
		}
	}
	_, _, err := Select("policy-storag/figure-2")
	if err == nil || !strings.Contains(err.Error(), "did you mean policy-storage?") {
		t.Errorf("a slip in the name: %v", err)
	}
	_, _, err = Select("write-concern/figure-2")
	if err == nil || !strings.Contains(err.Error(), "journal, replication") {
		t.Errorf("a figure that does not exist: %v", err)
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ document, factor, workload, want string }{
		{"policy-storage", "Client threads", "a", "figure-2"},
		{"policy-storage", "client threads", "ycsb-b", "figure-3"},
		{"policy-storage", "client threads", "c", ""},
		{"policy-storage", "data servers", "a", "figure-10 table-6"},
		{"ssd-vs-disk", "disks", "D", "table-1-d"},
		{"storage-io", "threads", "a", "ext4 xfs md lvm"},
	} {
		var got []string
		for _, sweep := range document(t, c.document).Find(c.factor, c.workload) {
			got = append(got, sweep.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s in %s is %v, want %s", c.document, c.factor, c.workload, got, c.want)
		}
	}
}

// A study cannot call its levels quite as the documents do.
func TestLevelsOfStudies(t *testing.T) {
	s := document(t, "policy-storage")
	for name, want := range map[string]string{"w1 and j0": "w=1 and j=0", "W=1 AND J=0": "w=1 and j=0", "w1 and j2": ""} {
		got := ""
		if l := s.Sweep("figure-18").Level(name); l != nil {
			got = l.Name
		}
		if got != want {
			t.Errorf("the level %q is %q, want %q", name, got, want)
		}
	}
}

// A claim that does not follow is found, whichever side it errs on; one that is rounded or cut off follows.
func TestRecompute(t *testing.T) {
	text := small + `sweeps:
  - {id: a, levels: [{name: one, values: {throughput: "1,000"}}, {name: two, values: {throughput: "1,996"}}]}
claims:
`
	for claim, want := range map[string]bool{
		"{of: change, stated: 99.6}":             true,
		"{of: change, stated: 99}":               true,
		"{of: change, stated: 100}":              true,
		"{of: change, stated: 98}":               false,
		"{of: change, stated: 101}":              false,
		"{of: change, stated: about 101}":        true,
		"{of: ratio, stated: 2.0}":               true,
		"{of: ratio, stated: 1.9}":               true,
		"{of: ratio, stated: 2.1}":               false,
		"{of: ratio, times: 3, stated: 6}":       true,
		"{of: figure, times: 0.001, stated: 2}":  true,
		"{of: figure, times: 0.001, stated: 3}":  false,
		"{of: figure, times: 0.001, stated: -2}": false,
	} {
		c := strings.Replace(claim, "{", "{from: a/one/throughput, to: a/two/throughput, ", 1)
		s, err := read(strings.NewReader(text + "  - " + c + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if result, follows, err := s.Recompute(s.Claims[0]); err != nil || follows != want {
			t.Errorf("%s: computed %v, follows %v, error %v", claim, result, follows, err)
		}
	}
	s := document(t, "failover")
	for _, c := range []Claim{{Of: "change", From: "no", To: "users"}, {Of: "change", From: "users", To: "no"}, {Of: "sum", From: "users", To: "users"}} {
		if _, _, err := s.Recompute(c); err == nil {
			t.Errorf("%+v was computed", c)
		}
	}
}

// Whatever stands in a file, reading it ends in a document or an error.
func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add(small + "sweeps: [{id: a, baseline: 1, levels: [{name: 1, values: {throughput: {is: about 3, number: 4}}}]}]\n")
	f.Add(small + "baselines: [{id: b, values: {throughput: 1e400}}]\nclaims: [{of: change, from: b/throughput, to: b/throughput, stated: -0.0}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read(strings.NewReader(text))
		if err != nil {
			return
		}
		_ = listing(s)
		for path := range s.everything() {
			_ = s.Doubts(path)
		}
	})
}
