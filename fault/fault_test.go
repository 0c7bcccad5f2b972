package fault

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

var update = flag.Bool("update", false, "write docs/reference/faults.md anew")

// details are what an action has to be told beside its target.
func details(a *Action) spec.Fault {
	f := spec.Fault{Action: spec.Action{Name: a.Name, Target: "primary"}}
	if slices.Contains(a.Takes, "rate") {
		f.Rate = 1000
	}
	if slices.Contains(a.Takes, "delay") {
		f.Delay = 1
	}
	if slices.Contains(a.Takes, "cores") {
		f.Cores = 1
	}
	return f
}

// Whatever reads the table finds in it what it needs, of every action.
func TestTable(t *testing.T) {
	var details []string
	for _, d := range Details {
		details = append(details, d.Name)
		if len(takers(d.Name)) == 0 {
			t.Errorf("no action takes %s", d.Name)
		}
	}
	mode := func(name string) bool { return slices.Contains(Modes(), name) }
	seen := map[string]bool{}
	for _, a := range All() {
		if seen[a.Name] || Find(a.Name) != a {
			t.Errorf("%s is there twice, or is not found", a.Name)
		}
		seen[a.Name] = true
		for what, wrong := range map[string]bool{
			"help":                                       a.Help == "",
			"what it is done to":                         a.On == 0,
			"a failure mode":                             !mode(a.Mode) || a.Isolated != "" && !mode(a.Isolated),
			"one way in which it is over":                a.Event && a.Lasts,
			"a place where it is done":                   a.DrillOnly && !a.Plain && a.Name != RollingRestart,
			"check if it takes details":                  a.Check == nil && len(a.Takes) > 0,
			"one answer to what becomes of a primary":    a.TakesDown && a.HandsOver,
			"a lasting fate":                             a.Fate != Unaffected && !(a.Lasts && a.TakesDown),
			"disks that it is done to, if it needs them": a.Needs == NeedsDisks && a.On != Disk,
			"a target of its own or one kind of them":    a.Implied != "" && a.On&(Host|Disk) != 0,
		} {
			if wrong {
				t.Errorf("%s lacks %s", a.Name, what)
			}
		}
		for _, d := range a.Takes {
			if !slices.Contains(details, d) {
				t.Errorf("%s takes %s, which is no detail", a.Name, d)
			}
		}
	}
}

// Validation knows every action, and takes of each what its table says, and nothing else.
func TestCheckReadsTheTable(t *testing.T) {
	given := map[string]func(*spec.Fault){
		"from": func(f *spec.Fault) { f.From = "host1" }, "direction": func(f *spec.Fault) { f.Direction = "in" },
		"rate": func(f *spec.Fault) { f.Rate = 5 }, "cores": func(f *spec.Fault) { f.Cores = 0.5 },
		"delay": func(f *spec.Fault) { f.Delay = 5 },
		"errno": func(f *spec.Fault) { f.Errno = "ENOSPC" },
		"ops":   func(f *spec.Fault) {}, "probability": func(f *spec.Fault) { f.Probability = 0.5 },
		"keep": func(f *spec.Fault) { f.Keep = 0.5 },
	}
	ops := map[string]string{DiskLie: "flush"}
	for _, a := range All() {
		if err := Check(details(a)); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		for _, d := range Details {
			f := details(a)
			given[d.Name](&f)
			if d.Name == "ops" {
				f.Ops = []string{"write"}
				if op := ops[a.Name]; op != "" {
					f.Ops = []string{op}
				}
			}
			err := Check(f)
			if takes := slices.Contains(a.Takes, d.Name); takes != (err == nil) || err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%s with %s: %v", a.Name, d.Name, err)
			}
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		spec spec.Fault
		says string
	}{
		{spec.Fault{}, "there is no action"},
		{spec.Fault{Action: spec.ParseAction("kil:primary")}, "did you mean kill?"},
		{spec.Fault{Action: spec.ParseAction("disk-lies:rs0-1")}, "did you mean disk-lie?"},
		{spec.Fault{Action: spec.ParseAction("kill")}, "kill needs a target"},
		{spec.Fault{Action: spec.ParseAction("kill:")}, "kill needs a target"},
		{spec.Fault{Action: spec.ParseAction("slow:host1")}, "rate"},
		{spec.Fault{Action: spec.ParseAction("kill:rs0-1"), Rate: 10}, "rate"},
		{spec.Fault{Action: spec.ParseAction("kill:rs0-1"), From: "host1"}, "(only: cut)"},
		{spec.Fault{Action: spec.ParseAction("cut:rs0-1"), Direction: "up"}, "both, in or out"},
		{spec.Fault{Action: spec.ParseAction("kill:rs0-1"), Keep: 0.5}, "power-loss"},
		{spec.Fault{Action: spec.ParseAction("power-loss:rs0-1"), Keep: 2}, "between 0 and 1"},
		{spec.Fault{Action: spec.ParseAction("power-loss:rs0-1"), Errno: "EIO"}, "(only: disk-error)"},
		{spec.Fault{Action: spec.ParseAction("disk-slow:rs0-1")}, "needs a delay"},
		{spec.Fault{Action: spec.ParseAction("disk-lie:rs0-1"), Delay: 1}, "does not accept delay"},
		{spec.Fault{Action: spec.ParseAction("disk-error:rs0-1"), Errno: "EFUN"}, "does not return"},
		{spec.Fault{Action: spec.ParseAction("disk-error:rs0-1"), Ops: []string{"flsh"}}, "did you mean flush?"},
		{spec.Fault{Action: spec.ParseAction("disk-torn:rs0-1"), Ops: []string{"read"}}, "never affects read"},
		{spec.Fault{Action: spec.ParseAction("disk-torn:rs0-1"), Probability: -0.5}, "between 0 and 1"},
	} {
		if err := Check(c.spec); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.says)
		}
	}
}

// where says which deployments have an action.
func where(a *Action) string {
	needs := map[Need]string{NeedsIsolated: "isolated hosts", NeedsDisks: "`--size`", NeedsFaults: "`--faults`",
		NeedsSet: "a replica set", NeedsShards: "shards"}
	labs := "labs"
	if a.Needs != NeedsNothing {
		labs += " with " + needs[a.Needs]
	}
	words := labs + ", platform files"
	switch {
	case a.Platform != "":
		return a.Platform
	case a.Plain && a.Needs == NeedsNothing:
		words = "anywhere"
	case a.Plain:
		words = "anywhere with " + needs[a.Needs]
	case a.NoLab != "":
		words = "platform files"
	}
	if a.Lacking != "" {
		words += "; mongod only"
	}
	return words
}

// row is an action in the reference.
func row(a *Action) string {
	target := map[Kind]string{Host: "a host", Host | Member: "a host or member", Member: "a member", Disk: "disks",
		Set: "a set", Collection: "a collection"}[a.On]
	if a.Implied != "" {
		target += " (" + a.Implied + ")"
	}
	options := "–"
	if len(a.Takes) > 0 {
		options = "`" + strings.Join(a.Takes, "`, `") + "`"
	}
	mode := "`" + a.Mode + "`"
	if a.Isolated != "" {
		mode += "; `" + a.Isolated + "` on isolated hosts"
	}
	ends := "by itself"
	if a.Lasts {
		ends = "when reverted"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |\n", a.Name, target, where(a), options, a.Help, ends, mode)
}

// The reference has the whole table: run the test with -update to write it anew.
func TestReferenceHasTheTable(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Faults and planned events\n\nWritten `--fault ACTION:PLACE`, and `fault: ACTION:PLACE` in files. " +
		"[Drills](../drill.md), [labs](../lab.md#faults) and\n[your own deployment](../platform.md) use them.\n\n" +
		"| option | meaning |\n|---|---|\n")
	for _, d := range Details {
		fmt.Fprintf(&text, "| `--%s` | %s |\n", d.Name, d.Usage())
	}
	for _, group := range []struct {
		title string
		has   func(*Action) bool
	}{
		{"Faults", func(a *Action) bool { return a.Platform == "" && !a.Planned() }},
		{"Planned events", func(a *Action) bool { return a.Platform == "" && a.Planned() }},
		{Kubernetes, func(a *Action) bool { return a.Platform == Kubernetes }},
		{VSphere, func(a *Action) bool { return a.Platform == VSphere }},
	} {
		fmt.Fprintf(&text, "\n## %s\n\n| action | target | where | options | what happens | ends | failure mode |\n"+
			"|---|---|---|---|---|---|---|\n", group.title)
		for _, a := range Everywhere() {
			if group.has(a) {
				text.WriteString(row(a))
			}
		}
	}
	const name = "../docs/reference/faults.md"
	if *update {
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.String(), string(have)); diff != "" {
		t.Errorf("%s has another table than the code (want -, got +). Write it with: make reference\n%s", name, diff)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("kill:primary", "host1", "in", "EIO", "flush", 0.5, 0.5, int64(1))
	f.Add("disk-error:a/b", "", "", "ENOSPC", "", 1.0, 0.0, int64(0))
	f.Fuzz(func(t *testing.T, text, from, direction, errno, op string, probability, keep float64, rate int64) {
		s := spec.Fault{Action: spec.ParseAction(text), From: from, Direction: direction, Errno: errno, Rate: spec.Size(rate),
			Probability: spec.Share(probability), Keep: spec.Share(keep)}
		if op != "" {
			s.Ops = []string{op}
		}
		if Check(s) == nil && (Find(s.Action.Name) == nil || s.Action.Target == "" || s.Action.String() != text) {
			t.Errorf("%+v was taken", s)
		}
	})
}
