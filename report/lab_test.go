package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A lab is told in the same words everywhere.
func TestLab(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	r, err := recordtest.Run{Warmup: 1, Seconds: 6, Rate: 90, Open: true, Median: 2e6, Seed: 7, StallAt: 3, Sampled: true,
		OnLab: true}.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (&Document{Title: "lab", Sections: labSections(r.Lab, r.LabAfter, r.Series)}).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	sameAsGolden(t, "lab.md", b.Bytes())
	b.Reset()
	if err := Write(&b, r, "md"); err != nil || !strings.Contains(b.String(), "### lab: hosts") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A lag of nothing has its units too.
func TestLagText(t *testing.T) {
	second, none, bytes := 1.5, 0.0, int64(0)
	for want, m := range map[string]record.LabMember{
		"-":        {},
		"0 s, 0 B": {LagSeconds: &none, LagBytes: &bytes},
		"0 B":      {LagBytes: &bytes},
		"1.50 s":   {LagSeconds: &second},
	} {
		if got := lagText(m); got != want {
			t.Errorf("the lag is %q, want %q", got, want)
		}
	}
}

func TestLabLine(t *testing.T) {
	plain := spec.Lab{Name: "one"}
	plain.Defaults()
	sharded := spec.Lab{Name: "two", Topology: spec.Topology{Shards: 2}}
	sharded.Defaults()
	for _, c := range []struct {
		lab  record.Lab
		want string
	}{
		{record.Lab{Name: "one", State: "up", Engine: "documentdb", Specification: plain, Hosts: []record.LabHost{{Role: "member"}, {Role: "gateway"}}},
			"one: 1 host (plain), documentdb, standalone, each on a directory"},
		{record.Lab{Name: "two", State: "failed", Engine: "mongod", Version: "8.0.4", Specification: sharded,
			Hosts: []record.LabHost{{Role: "member"}, {Role: "member"}}},
			"two: 2 hosts (plain), mongod 8.0.4, 2 shards of 3 members, 3 config servers, 2 routers, each on a directory (failed)"},
	} {
		if got := labLine(&c.lab); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Members with the same problem tell it once.
func TestSameProblemOfMembers(t *testing.T) {
	s := labMembers(&record.Lab{Members: []record.LabMember{{Name: "a", Problem: "no primary"}, {Name: "b", Problem: "slow"},
		{Name: "c", Problem: "no primary"}}}, &record.Lab{})
	if diff := cmp.Diff([]Point{{Warn, "a, c", "no primary"}, {Warn, "b", "slow"}}, s.Points); diff != "" {
		t.Error(diff)
	}
}

// A column without a value in any row is not shown, and the others stay on their side.
func TestEmptyColumns(t *testing.T) {
	table := &Table{Header: []string{"a", "b", "c", "d", "e"}, Left: 2, Last: 2, Wide: []int{3, 4},
		Rows: [][]string{{"", "-", "1", "", "x"}, {"-", "", "-", "–", "-"}}}
	table.dropEmpty()
	want := &Table{Header: []string{"a", "c", "e"}, Left: 1, Last: 1, Wide: []int{2},
		Rows: [][]string{{"", "1", "x"}, {"-", "-", "-"}}}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Error(diff)
	}
}
