package conduct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
)

// ownFindings are the ids of the findings of this package.
var ownFindings = []string{"nothing-done", "capacity-doubtful", "no-result", "data-grew", "tool-changed",
	"machine-changed", "journal-damaged", "lab-left", "redeployed", "scaled", "cut-short"}

// conducted makes the findings about how a study was run.
type conducted struct {
	*logbook
	data  *dataSets
	lab   *deployment
	total int // trials of the plan
}

func (c *conducted) replaceFindings() {
	others := slices.DeleteFunc(c.study.Validity, func(f measure.Finding) bool {
		return slices.Contains(ownFindings, f.ID)
	})
	all := slices.Concat(others, c.nothingDone(), c.doubtful(), c.noResult(), c.data.grew(), c.changed(), c.deployed(),
		c.scaled(), c.leftOut())
	if c.unreadable > 0 {
		all = append(all, measure.Finding{ID: "journal-damaged", Severity: measure.Note, Text: fmt.Sprintf(
			"%s of the journal cannot be read, as after a power cut. Their contents were taken from the records of the trials, "+
				"which were complete or were repeated", figure.Plural(c.unreadable, "line"))})
	}
	slices.SortStableFunc(all, func(a, b measure.Finding) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text))
	})
	measure.SortFindings(all)
	c.study.Validity = all
}

// nothingDone is the finding about a complete study without a finished trial.
func (c *conducted) nothingDone() []measure.Finding {
	done := slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool {
		return t.Status == record.TrialDone && t.Kind == record.TrialCompared
	})
	if c.study.Status != record.Complete || c.total == 0 || done {
		return nil
	}
	if !slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool {
		return t.Kind == record.TrialCompared && t.Status.Begun()
	}) {
		return []measure.Finding{{ID: "nothing-done", Severity: measure.Invalid,
			Text: "there was no time for any trial, so there is nothing to compare"}}
	}
	return []measure.Finding{{ID: "nothing-done", Severity: measure.Invalid, Text: fmt.Sprintf(
		"no trial finished, so there is nothing to compare. The last one failed with: %s. Remove the cause and repeat them with: "+
			"plimsoll study resume %s --retry-failed",
		lastProblem(c.study.Trials), c.dir)}}
}

// noResult names the configurations of a complete study without a valid trial. Exploratory ones are a warning only.
func (c *conducted) noResult() []measure.Finding {
	if c.study.Status != record.Complete || c.total == 0 || len(c.nothingDone()) > 0 {
		return nil
	}
	var all []measure.Finding
	for _, exploratory := range []bool{false, true} {
		severity, ids := measure.Invalid, []string{}
		if exploratory {
			severity = measure.Warning
		}
		for _, configuration := range c.study.Configurations {
			if configuration.Exploratory == exploratory && !c.hasResult(configuration.ID) && !c.allLeft(configuration.ID) {
				ids = append(ids, configuration.ID)
			}
		}
		if len(ids) > 0 {
			all = append(all, measure.Finding{ID: "no-result", Severity: severity, Text: fmt.Sprintf(
				"no valid trial of %s, so there is no result for %s. See why the trials failed, remove the cause and repeat them with: "+
					"plimsoll study resume %s --retry-failed",
				strings.Join(ids, ", "), map[bool]string{true: "it", false: "them"}[len(ids) == 1], c.dir)})
		}
	}
	return all
}

func (c *conducted) hasResult(configuration string) bool {
	return slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool {
		return t.Configuration == configuration && t.Kind == record.TrialCompared && t.Status == record.TrialDone &&
			measure.Worst(t.Validity) != measure.Invalid
	})
}

// changed finds sessions with other versions of plimsoll or on other machines.
func (c *conducted) changed() []measure.Finding {
	var tools, machines []string
	add := func(list *[]string, what string) {
		if what != "" && !slices.Contains(*list, what) {
			*list = append(*list, what)
		}
	}
	for _, s := range c.sessions {
		add(&tools, versionOf(s.Tool))
		add(&machines, machineOf(s))
	}
	var all []measure.Finding
	if len(tools) > 1 {
		all = append(all, measure.Finding{ID: "tool-changed", Severity: measure.Warning, Text: fmt.Sprintf(
			"trials were run by different versions of plimsoll (%s), which may be the cause of differences", strings.Join(tools, ", "))})
	}
	if len(machines) > 1 {
		all = append(all, measure.Finding{ID: "machine-changed", Severity: measure.Warning, Text: fmt.Sprintf(
			"trials were run on different machines (%s), which may be the cause of differences", strings.Join(machines, ", "))})
	}
	return all
}

func versionOf(t record.Tool) string {
	if t.Commit == "" {
		return t.Version
	}
	return t.Version + " " + t.Commit[:min(12, len(t.Commit))]
}

func machineOf(s record.StudySession) string {
	if s.Host == "" && s.CPU == "" {
		return ""
	}
	return fmt.Sprintf("%s with %s cores of %s", s.Host, figure.Significant(s.Cores), cmp.Or(s.CPU, "an unknown processor"))
}

// scaled says how the study was scaled down, because its absolute figures are not comparable with those of the
// document.
func (c *conducted) scaled() []measure.Finding {
	var all []measure.Finding
	for _, note := range study.ScaleNotes(&c.study.Specification) {
		all = append(all, measure.Finding{ID: "scaled", Severity: measure.Note, Text: note})
	}
	return all
}

func (c *conducted) doubtful() []measure.Finding {
	if c.study.Capacity == nil || len(c.study.Capacity.Doubts) == 0 {
		return nil
	}
	return []measure.Finding{{ID: "capacity-doubtful", Severity: measure.Warning,
		Text: "the capacity was confirmed, but is doubtful: " + strings.Join(c.study.Capacity.Doubts, "; ")}}
}

// leftOut is the finding about trials that were skipped for lack of time.
func (c *conducted) leftOut() []measure.Finding {
	count, why, kept := 0, "", map[string]bool{}
	for _, t := range c.study.Trials {
		switch {
		case t.Kind != record.TrialCompared:
		case t.Status == record.TrialLeft:
			count++
			why = t.Problem
		case t.Status.Begun():
			kept[t.Configuration] = true
		}
	}
	if count == 0 {
		return nil
	}
	f := measure.Finding{ID: "cut-short", Severity: measure.Note, Text: fmt.Sprintf(
		"%d of %s were skipped, in complete blocks, because there was not enough time (%s). The result is from the others",
		count, figure.Plural(c.total, "trial"), why)}
	if without := c.without(kept); len(without) > 0 {
		f.Severity = measure.Warning
		f.Text += ". There is no result for " + strings.Join(without, ", ")
	}
	return []measure.Finding{f}
}

func (c *conducted) without(kept map[string]bool) (list []string) {
	for _, configuration := range c.study.Configurations {
		if !kept[configuration.ID] {
			list = append(list, configuration.ID)
		}
	}
	return list
}

// allLeft reports whether all trials of a configuration were skipped for lack of time.
func (c *conducted) allLeft(configuration string) bool {
	left := false
	for _, t := range c.study.Trials {
		if t.Configuration != configuration || t.Kind != record.TrialCompared {
			continue
		}
		if t.Status != record.TrialLeft {
			return false
		}
		left = true
	}
	return left
}

// deployed reports how often the lab was brought up, and whether it could not be removed.
func (c *conducted) deployed() []measure.Finding {
	var all []measure.Finding
	if c.lab.left != "" {
		all = append(all, measure.Finding{ID: "lab-left", Severity: measure.Note, Text: c.lab.left})
	}
	if mean, n := redeployed(c.study.Trials); n > 0 {
		all = append(all, measure.Finding{ID: "redeployed", Severity: measure.Note, Text: fmt.Sprintf(
			"the lab was brought up %s, %s each. The trial after that runs on servers that were just started", figure.Plural(n, "time"),
			figure.Duration(time.Duration(mean*float64(time.Second))))})
	}
	return all
}
