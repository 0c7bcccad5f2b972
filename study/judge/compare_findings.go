package judge

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func (c *comparing) findings(sides []Side, points [][]*Side) []measure.Finding {
	all := []measure.Finding{}
	for _, f := range [][]measure.Finding{
		c.checkDifferences(), checkSides(sides), c.checkFew(sides), checkInterleaved(points), checkUnmatched(points, sides),
		c.mixed, unknownMetrics(c.unknown), checkSame(points),
	} {
		all = append(all, f...)
	}
	measure.SortFindings(all)
	return all
}

func (c *comparing) checkDifferences() []measure.Finding {
	var must, should, why []string
	for _, d := range c.report.Differences {
		switch d.Severity {
		case measure.Invalid:
			must = append(must, d.What)
			if weigh(d.What).role == forbidden {
				why = append(why, d.Why)
			}
		case measure.Warning:
			should = append(should, d.What)
		}
	}
	all := slices.Concat(must, should)
	switch {
	case len(must) > 0 && c.o.Force:
		return finding("not-comparable", measure.Warning, "the sides differ in what must be equal (%s) and were compared "+
			"because of --force. Any of these may be the cause of a difference", some(must))
	case len(why) > 0:
		return finding("not-comparable", measure.Invalid, "the sides differ in what must be equal (%s), so there is no "+
			"verdict: %s. Make them equal, or compare them on purpose (--varied %s), or ignore it (--force)", some(must), why[0], root(must[0]))
	case len(must) > 0:
		return finding("not-comparable", measure.Invalid, "the sides differ in more than one thing (%s), and any of them may be "+
			"the cause of a difference, so there is no verdict. Change one at a time, or compare them together (--varied %s), or ignore "+
			"it (--force)", some(all), strings.Join(roots(all), ","))
	case len(should) > 0:
		return finding("differences", measure.Warning, "the sides differ in what should be equal (%s). Any of these may be the "+
			"cause of a difference", some(should))
	}
	return nil
}

// roots returns the first parts of paths, each once.
func roots(paths []string) (list []string) {
	for _, p := range paths {
		if r := root(p); !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// wouldTell returns the command that tells whether the sides differ, if these records cannot because they do not
// alternate. Two runs of the same specification on one target cannot be repeated in turn, because only the later state
// of the target exists. Then it is the command that shows how much runs of that differ.
func (c *comparing) wouldTell(points [][]*Side) string {
	if c.refused || len(points) != 1 || len(points[0]) != 2 {
		return ""
	}
	a, b := points[0][0], points[0][1]
	if _, _, silent := a.blocks(b); silent != notInterleaved {
		return ""
	}
	if !c.o.disks && slices.ContainsFunc(c.report.Differences, func(d record.Difference) bool {
		return d.Compared && (d.What == "target.address" || specified(d.What))
	}) {
		return shellword.Join([]string{"plimsoll", "ab", a.Name, b.Name})
	}
	if c.o.disks {
		return shellword.Join([]string{"plimsoll", "disk", a.facts()["probe.directory"], b.facts()["probe.directory"]})
	}
	all := append(a.counted(), b.counted()...)
	if len(all) == 0 {
		return ""
	}
	last := slices.MaxFunc(all, func(a, b Trial) int { return a.Started.Compare(b.Started) })
	return shellword.Join([]string{"plimsoll", "run", "-f", last.Record, "--repeat", "5"})
}

// specified reports whether a fact is a key of the specification of a run or its lab.
func specified(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return !slices.Contains([]string{"target", "environment", "tool", "client_settings", "scheduled", "data", "capacity"}, first) &&
		path != "lab.version"
}

// root returns the first part of a path, which is what users compare: durability rather than durability.journal.
func root(path string) string {
	first, rest, _ := strings.Cut(path, ".")
	if first == "environment" || first == "workload" || first == "target" {
		second, _, _ := strings.Cut(rest, ".")
		return below(first, second)
	}
	return first
}

// some lists names, at most 6.
func some(names []string) string {
	const most = 6
	names = slices.Compact(slices.Clone(names))
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// checkSides finds trials that do not count, or that have warnings.
func checkSides(sides []Side) []measure.Finding {
	var all []measure.Finding
	left, total, doubtful := 0, 0, 0
	why, doubts := map[string]int{}, map[string]int{}
	for i := range sides {
		for _, t := range sides[i].Trials {
			total++
			if t.Why != "" {
				left++
				why[t.Why]++
				continue
			}
			if len(t.Doubts) > 0 {
				doubtful++
			}
			for _, d := range t.Doubts {
				doubts[d]++
			}
		}
		if len(sides[i].counted()) == 0 {
			all = append(all, finding("no-records", measure.Invalid, "%s has no valid record, so there is no comparison. See why "+
				"below, and run it again", sides[i].Name)...)
		}
	}
	if left > 0 {
		all = append(all, finding("left-out", measure.Warning, "not counted: %s of %d: %s", plural(left, "record"),
			total, tally(why))...)
	}
	if doubtful > 0 {
		all = append(all, finding("doubtful-trials", measure.Warning, "warnings in %s of %d: %s. These records count. "+
			"See the records", plural(doubtful, "record"), total, tally(doubts))...)
	}
	return all
}

// checkMixed finds sides whose own records are not comparable.
func checkMixed(sides []Side, force bool) []measure.Finding {
	var all []measure.Finding
	for i := range sides {
		variants := sides[i].variants()
		if len(variants) < 2 {
			continue
		}
		var what []string
		severity := measure.Note
		for _, d := range differences(variants, nil) {
			if d.Severity == measure.Note {
				continue
			}
			slices.Sort(d.Values)
			what = append(what, d.What+" is "+strings.Join(slices.Compact(d.Values), " and "))
			if rank(d.Severity) > rank(severity) {
				severity = d.Severity
			}
		}
		if force && severity == measure.Invalid {
			severity = measure.Warning
		}
		all = append(all, finding("mixed-records", severity, "the records of %s are not repetitions of each other, so they do "+
			"not show how much runs differ: %s. Compare only records of the same settings", sides[i].Name, some(what))...)
	}
	return all
}

func (c *comparing) checkFew(sides []Side) []measure.Finding {
	least, name := -1, ""
	for i := range sides {
		if n := len(sides[i].counted()); n > 0 && (least < 0 || n < least) {
			least, name = n, sides[i].Name
		}
	}
	switch {
	case least < 0 || least >= trialsForMedian:
		return nil
	case least == 1:
		return finding("one-record", measure.Warning, "%s has a single record, and one run does not show how much runs "+
			"differ. The interval of a percentile within a run is far too narrow for that. Repeat both sides in turn: "+
			"plimsoll ab, or plimsoll disk DIR-A DIR-B", name)
	case least < trialsForRanks:
		return finding("few-trials", measure.Warning, "%[2]s has only %[1]d records, so verdicts rely on the t "+
			"distribution alone. Repeat it, %[3]d times for an interval of medians", least, name, trialsForMedian)
	}
	return finding("few-trials", measure.Note, "%[2]s has %[1]d records. The 95 %% interval of a median needs %[3]d", least,
		name, trialsForMedian)
}

// checkInterleaved finds sides that did not alternate, so that a change of the machine looks like a difference.
func checkInterleaved(points [][]*Side) []measure.Finding {
	for _, p := range points {
		for _, s := range p[1:] {
			if base, value, silent := p[0].blocks(s); silent == notInterleaved && len(base) > 1 && len(value) > 1 {
				return finding("not-interleaved", measure.Warning, "the trials of %s and %s do not alternate, so a change of the machine "+
					"in between looks like a difference, and no interval covers it. There is no verdict. Repeat both sides in turn: "+
					"plimsoll ab, or plimsoll disk DIR-A DIR-B", p[0].Name, s.Name)
			}
		}
	}
	return nil
}

func checkSame(points [][]*Side) []measure.Finding {
	for _, p := range points {
		mine := map[string]bool{}
		for _, t := range p[0].counted() {
			mine[filepath.Clean(t.Record)] = t.Record != ""
		}
		for _, s := range p[1:] {
			for _, t := range s.counted() {
				if mine[filepath.Clean(t.Record)] {
					return finding("same-records", measure.Warning, "%s is on both sides, so it is compared with itself. Give "+
						"another record", t.Record)
				}
			}
		}
	}
	return nil
}

func checkUnmatched(points [][]*Side, sides []Side) []measure.Finding {
	var alone []string
	for _, p := range points {
		if len(p) == 1 && len(points) > 1 {
			alone = append(alone, p[0].Name)
		}
	}
	if len(alone) == 0 {
		return nil
	}
	return finding("unmatched", measure.Note, "without counterpart and not compared: %s of %d: %s",
		plural(len(alone), "configuration"), len(sides), some(alone))
}
