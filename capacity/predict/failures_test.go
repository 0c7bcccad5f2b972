package predict

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// drilled is a drill whose primary was killed, with these outages in seconds. Members are back after 30 s.
func drilled(dir, election string, outages ...float64) Drilled {
	d := &record.Drill{Engine: "mongod 8.0"}
	for i, s := range outages {
		topology := &spec.Topology{Members: 3, Election: election}
		d.Rounds = append(d.Rounds, record.DrillRound{Number: i + 1, Status: record.Complete, Members: 3, Topology: topology,
			Faults:  []record.DrillFault{{Fault: spec.Action{Name: "kill", Target: "primary"}, Hit: true, Injected: 8e9}},
			Moments: []record.DrillMoment{{Kind: record.MomentRedundant, At: 38e9}},
			Effects: []record.DrillEffect{{Kind: record.KindWrites, Client: -1, Outage: int64(s * 1e9)}}})
	}
	return Drilled{dir, d}
}

func failuresOf(t *testing.T, text string, drills ...Drilled) *record.Failures {
	t.Helper()
	f, err := Failures(drills, text, record.Tool{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func refused(f *record.Failures) string { return strings.Join(f.Refused, "\n") }

// A third of the failures hits a primary, and each of them is an outage as in the drills.
func TestFailures(t *testing.T) {
	drills := []Drilled{drilled("a", "elect-fast", 1.9, 2, 2.1), drilled("b", "elect-fast", 1.95, 2.05)}
	drills[0].Specification.Run.Target = "lab:three"
	f := failuresOf(t, "shards=333,ops=333k,kill=300", drills...)
	y := f.Year
	if f.Target != "lab:three" {
		t.Errorf("the target is %q", f.Target)
	}
	if y == nil || len(f.Checks) != 2 || math.Abs(y.Failures-300) > 6 || math.Abs(y.Outages-100) > 5 ||
		y.Longest.High > 2.2 {
		t.Fatalf("%q, %+v, checks %+v", refused(f), y, f.Checks)
	}
	if math.Abs(y.Down.Median/200-1) > 0.06 || math.Abs(1-y.Available-y.Down.Median/333/31_536_000) > 1e-12 {
		t.Errorf("%+v", y)
	}
	// The number of outages is one of Poisson with the mean 100, so the middle 90 % are 84 to 117.
	if math.Abs(y.Down.Low/168-1) > 0.06 || math.Abs(y.Down.High/234-1) > 0.06 {
		t.Errorf("range %+v", y.Down)
	}
	if math.Abs(y.Away/(300*30)-1) > 0.05 || math.Abs(y.Operations-1000*y.Down.Median) > 1 {
		t.Errorf("members are away for %g s, %g operations", y.Away, y.Operations)
	}
	if k := f.Kinds[0]; k.Drills != 2 || k.Rounds != 5 || k.Outage != 2e9 || k.Away != 30e9 {
		t.Errorf("%+v", k)
	}
	again := failuresOf(t, f.Asked, drills...)
	if *again.Year != *y {
		t.Errorf("the same question has two answers: %+v and %+v", *y, *again.Year)
	}
}

// Rare failures have no outage in most years, and the range says so.
func TestRareFailures(t *testing.T) {
	f := failuresOf(t, "kill=0.3", drilled("a", "elect-fast", 2), drilled("b", "elect-fast", 2))
	if y := f.Year; y == nil || y.Down.Median != 0 || y.Down.High != 2 || y.Available != 1 {
		t.Errorf("%q, %+v", refused(f), y)
	}
}

// Outages follow the election time if drills with two such times show that they do.
func TestElections(t *testing.T) {
	fast, slow := drilled("a", "elect-fast", 1.9, 2, 2.1), drilled("b", "elect-default", 10.9, 11.1)
	f := failuresOf(t, "shards=100,kill=300,election=5s", fast, slow)
	if y := f.Year; y == nil || math.Abs(y.Down.Median/y.Outages-6) > 0.5 {
		t.Errorf("%q, %+v", refused(f), y)
	}
	// Outages that were measured on a mongod 4.4.6 with w: 1, elections after 1 s and after 10 s.
	f = failuresOf(t, "kill=10,election=10s", drilled("fast-1", "elect-fast", 1.07), drilled("fast-2", "elect-fast", 1.13),
		drilled("default", "elect-default", 10.64))
	if f.Year == nil || len(f.Checks) != 3 {
		t.Errorf("%q, %+v", refused(f), f.Checks)
	}
	majority := drilled("b", "elect-fast", 2)
	majority.Specification.Run.Durability.W = "majority"
	five := drilled("b", "elect-fast", 2)
	five.Rounds[0].Members = 5
	for want, drills := range map[string][]Drilled{
		"differ in engine, members, durability": {fast, majority},
		"differ in engine, members":             {fast, five},
		"the outages of 2 drills are off":       {fast, drilled("b", "elect-fast", 3, 3)},
		"and the records have 1":                {fast},
		"elect after one time":                  {fast, drilled("b", "elect-fast", 2)},
		"the outages of 2 drills are off by":    {fast, drilled("b", "elect-default", 14)},
		"and the records have 0":                nil,
	} {
		f := failuresOf(t, "shards=100,kill=100,election=5s", drills...)
		if !strings.Contains(refused(f), want) || f.Year != nil {
			t.Errorf("refused with %q, want %q", refused(f), want)
		}
	}
}

// The drills of mongod 4.4.6 with its default election timeout, and of PostgreSQL 18 with Patroni, whose lease is 20 s,
// have four or five rounds each, and are like each other.
func TestFailuresOfMeasuredDrills(t *testing.T) {
	for _, c := range []struct{ asked, drills, refused string }{
		{"shards=333,kill=200", "mongod-kill", ""},
		{"shards=333,power-off=200", "patroni-power-off", ""},
		{"shards=333,kill=200", "patroni-power-off", "kill"},
	} {
		var drills []Drilled
		for _, n := range []string{"-1", "-2", "-3"} {
			dir := "testdata/drills/" + c.drills + n
			d, err := record.OpenDrill(dir)
			if err != nil {
				t.Fatal(err)
			}
			drills = append(drills, Drilled{dir, d})
		}
		f := failuresOf(t, c.asked, drills...)
		for _, x := range f.Checks {
			t.Logf("%s: %.4g s measured, %.4g s of the others, %+.1f %%", x.Setup, float64(x.Measured)/1e9, float64(x.Others)/1e9, 100*x.Error)
		}
		if got := refused(f); (got != "") != (c.refused != "") || !strings.Contains(got, c.refused) || len(f.Checks) != 3 ||
			len(f.LeftOut) > 0 {
			t.Errorf("%s from %s: refused %q, left out %q, %d checks", c.asked, c.drills, got, f.LeftOut, len(f.Checks))
		}
	}
}

func TestFailuresOfBadQuestions(t *testing.T) {
	drills := []Drilled{drilled("a", "elect-fast", 2), drilled("b", "elect-fast", 2)}
	for text, want := range map[string]string{
		"":                           "no key or no value",
		"shards=3":                   "no failures",
		"kill=0":                     "no failures",
		"kill":                       "no key or no value",
		"kill=many":                  "not a number of failures",
		"kill=-1":                    "not a number of failures",
		"kill=NaN":                   "not a number of failures",
		"kill=1e9":                   "more than 100000",
		"kill=1,kill=2":              "given twice",
		"shard=3,kill=1":             "did you mean shards",
		"kil=1":                      "did you mean kill",
		"shards=0,kill=1":            "1 to 100000 shards",
		"shards=50000,kill=1":        "more than 100000 members",
		"ops=0,kill=1":               "ops",
		"election=0s,kill=1":         "above 0",
		"election=5,kill=1":          "election",
		"shards=333,ops=lots,kill=1": "ops",
	} {
		if f, err := Failures(drills, text, record.Tool{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %+v, want %q", text, err, f, want)
		}
	}
}

// The question that the documentation shows can be answered.
func TestDocumentedFailures(t *testing.T) {
	page, err := os.ReadFile("../../docs/size.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## Failures in a year\n")
	_, rest, _ := strings.Cut(section, "--failures '")
	text, _, _ := strings.Cut(rest, "'")
	f, err := Failures(nil, text, record.Tool{})
	if err != nil || !found || f.Shards != 333 || len(f.Kinds) != 2 {
		t.Errorf("%q: %+v, %v", text, f, err)
	}
}
