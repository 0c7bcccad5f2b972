package conduct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
)

// ownFindings are those that only the conductor can know of.
var ownFindings = []string{"nothing-done", "capacity-doubtful", "no-result", "data-grew", "tool-changed", "machine-changed", "journal-damaged", "lab-left", "redeployed", "scaled", "cut-short"}

// findings replaces what was found out about how the study was conducted.
func (c *conductor) findings() {
	others := slices.DeleteFunc(c.study.Validity, func(f measure.Finding) bool { return slices.Contains(ownFindings, f.ID) })
	all := slices.Concat(others, c.nothingDone(), c.doubtful(), c.noResult(), c.grew(), c.changed(), c.labFindings(), c.scaled(), c.leftOut())
	if c.unreadable > 0 {
		all = append(all, measure.Finding{ID: "journal-damaged", Severity: measure.Note, Text: fmt.Sprintf(
			"%s of the journal cannot be read, as after a power cut; what they said was taken from the records of the trials, which were complete or were repeated",
			figure.Plural(c.unreadable, "line"))})
	}
	slices.SortStableFunc(all, func(a, b measure.Finding) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text)) })
	measure.SortFindings(all)
	c.study.Validity = all
}

// nothingDone is the finding about a study that is through and has nothing to show.
func (c *conductor) nothingDone() []measure.Finding {
	done := slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool { return t.Status == record.TrialDone && t.Kind == record.TrialCompared })
	if c.study.Status != record.Complete || c.total == 0 || done {
		return nil
	}
	if !slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool { return t.Kind == record.TrialCompared && t.Status.Begun() }) {
		return []measure.Finding{{ID: "nothing-done", Severity: measure.Invalid, Text: "there was no time for any of the trials, so there is nothing to compare"}}
	}
	return []measure.Finding{{ID: "nothing-done", Severity: measure.Invalid, Text: fmt.Sprintf(
		"none of the trials was finished, so there is nothing to compare; the last one failed with: %s. Remove the cause and repeat them (plimsoll study resume %s --retry-failed)",
		c.lastProblem(), c.o.Dir)}}
}

// noResult names the configurations of a study that is through of which no trial counts: what was asked about them has
// no answer. Exploratory ones decide nothing.
func (c *conductor) noResult() []measure.Finding {
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
				"no trial of %s counts, so nothing is known of %s; see why its trials failed, remove the cause and repeat them (plimsoll study resume %s --retry-failed)",
				strings.Join(ids, ", "), map[bool]string{true: "it", false: "them"}[len(ids) == 1], c.o.Dir)})
		}
	}
	return all
}

func (c *conductor) hasResult(configuration string) bool {
	return slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool {
		return t.Configuration == configuration && t.Kind == record.TrialCompared && t.Status == record.TrialDone && measure.Worst(t.Validity) != measure.Invalid
	})
}

// changed compares the sessions of the study: trials of other programs or machines may differ because of them.
func (c *conductor) changed() []measure.Finding {
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
			"trials were made by different versions of plimsoll (%s), and they may differ because of that", strings.Join(tools, ", "))})
	}
	if len(machines) > 1 {
		all = append(all, measure.Finding{ID: "machine-changed", Severity: measure.Warning, Text: fmt.Sprintf(
			"trials were made on different machines (%s), and they may differ because of that", strings.Join(machines, ", "))})
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
	return fmt.Sprintf("%s with %s cores of %s", s.Host, figure.Significant(s.Cores), orElse(s.CPU, "an unknown processor"))
}

// scaled says how much smaller than its document the study is: its absolute figures are not those of the document's hardware.
func (c *conductor) scaled() []measure.Finding {
	var all []measure.Finding
	for _, note := range study.ScaleNotes(&c.study.Specification) {
		all = append(all, measure.Finding{ID: "scaled", Severity: measure.Note, Text: note})
	}
	return all
}
