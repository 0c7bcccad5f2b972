package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var updatePage = flag.Bool("update", false, "write docs/trust.md and docs/reference/liars.md")

// The pages are what the stored results and the words of the families render to.
func TestPageIsRendered(t *testing.T) {
	const root = ".."
	by, err := stored(root, families())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages(families(), by) {
		if *updatePage {
			if err := os.WriteFile(filepath.Join(root, name), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(have)); diff != "" {
			t.Errorf("%s is not rendered from %s (want -, got +). Write it with: go test ./liars -update\n%s", name, resultsDir, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, resultsDir, "*.json"))
	if err != nil || len(files) != len(by) {
		t.Errorf("%d files in %s are of %d families (%v)", len(files), resultsDir, len(by), err)
	}
}

// Each row has one kind of input, a goal for it, and trials in the full version.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range families() {
		if f.name == "" || f.verdict == "" || seen[f.name] || len(f.rows) == 0 {
			t.Errorf("family %q has no name of its own, no verdict or no rows", f.name)
		}
		seen[f.name] = true
		for _, r := range f.rows {
			at := f.name + "/" + r.name
			if r.name == "" || seen[at] || (r.lie == "") == (r.honest == "") || r.full < 1 || r.small > r.full || r.try == nil {
				t.Errorf("row %s has no name of its own, not one input, or no trials", at)
			}
			if r.goal == unclaimed && r.notFound == "" {
				t.Errorf("row %s is not claimed and does not say what is not found", at)
			}
			if strings.Contains(f.verdict+r.lie+r.honest+r.notFound, "|") {
				t.Errorf("row %s would break the table", at)
			}
			seen[at] = true
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		counts counts
		goal   goal
		want   state
	}{
		{counts{Accused: 200}, everyOne, met},
		{counts{Accused: 199, Cleared: 1}, everyOne, missed},
		{counts{Accused: 199, Undecided: 1}, everyOne, missed},
		{counts{Cleared: 1000}, none, met},
		{counts{Cleared: 990, Undecided: 10}, none, met},
		{counts{Cleared: 999, Accused: 1}, none, missed},
		{counts{Cleared: 95, Accused: 5}, atMost(0.05), met},
		{counts{Cleared: 94, Accused: 6}, atMost(0.05), open},
		{counts{Cleared: 80, Accused: 20}, atMost(0.05), missed},
		{counts{Accused: 198, Cleared: 2}, atLeast(0.99), met},
		{counts{Accused: 196, Cleared: 4}, atLeast(0.99), open},
		{counts{Accused: 190, Cleared: 10}, atLeast(0.99), missed},
		{counts{Accused: 1, Cleared: 99}, goal{0.02, 0.10}, open},
		{counts{Accused: 1, Cleared: 999}, goal{0.02, 0.10}, missed},
		{counts{Accused: 3, Cleared: 7}, unclaimed, noClaim},
		{counts{Accused: 3, Failed: 1}, everyOne, missed},
		{counts{NotPlanted: 9}, everyOne, open},
		{counts{NotRun: "needs root"}, everyOne, notRun},
	} {
		if got := c.counts.state(c.goal); got != c.want {
			t.Errorf("%+v with the goal %v is %q, want %q", c.counts, c.goal, got, c.want)
		}
	}
}

// alternating lies with odd seeds, and its verdict finds all of these but that of seed blind.
func alternating(blind uint64) family {
	lies := func(_ context.Context, t *trial) (answer, error) {
		if t.seed == blind {
			t.say("it looked the other way")
			return cleared, nil
		}
		return accused, nil
	}
	honest := func(context.Context, *trial) (answer, error) { return cleared, nil }
	absent := func(context.Context, *trial) (answer, error) { return 0, notHere("needs root") }
	fails := func(context.Context, *trial) (answer, error) { return 0, errors.New("broken") }
	return family{name: "made-up", verdict: "a verdict", parallel: 2, notFound: []string{"a lie by silence"}, rows: []row{
		{name: "lie", lie: "a lie", goal: everyOne, small: 5, full: 200, try: lies},
		{name: "honest", honest: "an honest input", goal: none, full: 100, try: honest},
		{name: "root", lie: "another lie", goal: everyOne, full: 100, try: absent},
		{name: "broken", honest: "a machine that fails", goal: unclaimed, full: 2, try: fails, notFound: "all"},
	}}
}

// The campaign counts, names each unexpected answer with the command that repeats it, and fails.
func TestCampaign(t *testing.T) {
	all := []family{alternating(17)}
	var out, log bytes.Buffer
	err := conduct(t.Context(), config{seed: 1}, all, &out, &log)
	if !errors.Is(err, errGoals) {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"1 of 4 goals are met: 2 missed, 1 not run here.\n", "| 199 of 200 |  | 97.2–99.99 % |", "| 0 of 100 | 0–3.6 % |",
		"not run: needs root", "(2 trials failed)", "- a lie by silence"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the output:\n%s", want, &out)
		}
	}
	for _, want := range []string{"made-up, lie: not found (again: go run ./liars -family made-up -row lie -seed 17 -n 1)\nit looked the other way\n",
		"made-up, broken: broken (again:"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, &log)
		}
	}
	out.Reset()
	if err := conduct(t.Context(), config{small: true, seed: 1}, all, &out, &log); err != nil {
		t.Errorf("the small version missed a goal: %v\n%s", err, &out)
	}
	err = conduct(t.Context(), config{families: "made-up", row: "lie", seed: 17, n: 1}, all, &out, &log)
	if !errors.Is(err, errGoals) {
		t.Errorf("the trial alone ended with %v", err)
	}
}

func TestWrongSelections(t *testing.T) {
	all := []family{alternating(0)}
	for _, c := range []config{{families: "other"}, {row: "lie"}, {families: "made-up", row: "other"}, {update: true, small: true}} {
		if err := conduct(t.Context(), c, all, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || errors.Is(err, errGoals) {
			t.Errorf("%+v ended with %v", c, err)
		}
	}
}

// Results are stored and the pages say what is missing.
func TestStore(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs/reference"), 0o700); err != nil {
		t.Fatal(err)
	}
	a, b := alternating(0), alternating(0)
	b.name = "later"
	r := result{Family: a.name, Date: "2026-11-29", Commit: "abc", Machine: "a machine", Seed: 1, Seconds: 3,
		Rows: []counts{{Row: "lie", Accused: 200}}}
	if err := store(root, []family{a, b}, []result{r}); err != nil {
		t.Fatal(err)
	}
	by, err := stored(root, []family{a, b})
	if diff := cmp.Diff(map[string]result{a.name: r}, by, cmpopts.IgnoreUnexported(counts{})); diff != "" || err != nil {
		t.Errorf("stored (want -, got +; %v):\n%s", err, diff)
	}
	later := r
	later.Date, later.Commit, later.Rows = "2026-12-01", "def", []counts{{Row: "honest", Cleared: 100}}
	both, err := r.with(later)
	if err != nil {
		t.Fatal(err)
	}
	if err := store(root, []family{a, b}, []result{both}); err != nil {
		t.Fatal(err)
	}
	later.Machine = "another machine"
	if _, err = r.with(later); err == nil {
		t.Error("rows of two machines are one result")
	}
	for want, page := range map[string]string{
		"2 of 6 goals are met: 4 without a stored result.":                                 trustPage,
		"made-up](reference/liars.md#made-up): a verdict | 2 of 3 | 200 of 200 | 0 of 100": trustPage,
		"Without a stored result: made-up: `root`, `broken`; later (a verdict).":           trustPage,
		"Made later (2026-12-01, commit def): `honest`.":                                   referencePage,
	} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in %s:\n%s", want, page, text)
		}
	}
}

// Trials with the same seed are alike; those of other rows differ.
func TestSeeds(t *testing.T) {
	f := alternating(0)
	var got []uint64
	for _, r := range []row{f.rows[0], f.rows[0], f.rows[1]} {
		got = append(got, newTrial(f, r, config{}, 7).rand.Uint64())
	}
	if got[0] != got[1] || slices.Contains(got[:2], got[2]) {
		t.Errorf("the first numbers of three trials are %v", got)
	}
}
