package conduct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
)

// ownFindings are the ids of the findings of this package.
var ownFindings = append([]string{"nothing-done", "capacity-doubtful", "no-result", "data-grew", "lab-left", "redeployed",
	"storage-left", "storage-policies", "scaled", "cut-short"}, campaign.Doubts...)

// conducted makes the findings about how a study was run.
type conducted struct {
	*session
	study *record.Study
}

func (c *conducted) add(id string, severity measure.Severity, format string, args ...any) {
	f := measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, args...)}
	c.study.Validity = append(c.study.Validity, f)
}

func (c *conducted) replaceFindings() {
	c.study.Validity = slices.DeleteFunc(c.study.Validity, func(f measure.Finding) bool {
		return slices.Contains(ownFindings, f.ID)
	})
	c.study.Validity = append(c.study.Validity, c.data.grew()...)
	c.results()
	if c.study.Capacity != nil && len(c.study.Capacity.Doubts) > 0 {
		c.add("capacity-doubtful", measure.Warning, "the load line was confirmed, but is doubtful: %s",
			strings.Join(c.study.Capacity.Doubts, "; "))
	}
	c.study.Validity = append(c.study.Validity, c.Doubts("trials")...)
	c.leftOut()
	// The absolute figures of a study that was scaled down are not comparable with those of the document.
	for _, note := range study.ScaleNotes(&c.study.Specification) {
		c.add("scaled", measure.Note, "%s", note)
	}
	if c.lab.left != "" {
		c.add("lab-left", measure.Note, "%s", c.lab.left)
	}
	if c.disks.left != "" {
		c.add("storage-left", measure.Warning, "%s", c.disks.left)
	}
	if mean, n := rebuilt(c.study.Trials); n > 0 {
		c.add("storage-policies", measure.Note, "the storage policy of disks was changed %s, %s each until they complied. The trial after "+
			"that reads from disks that were just rebuilt", figure.Plural(n, "time"), figure.Duration(time.Duration(mean*float64(time.Second))))
	}
	if mean, n := redeployed(c.study.Trials); n > 0 {
		c.add("redeployed", measure.Note, "the lab was brought up %s, %s each. The trial after that runs on servers that were just "+
			"started", figure.Plural(n, "time"), figure.Duration(time.Duration(mean*float64(time.Second))))
	}
	slices.SortStableFunc(c.study.Validity, func(a, b measure.Finding) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text))
	})
	measure.SortFindings(c.study.Validity)
}

// results finds a complete study without a finished trial, or else its configurations without a valid one. Exploratory
// ones are a warning only.
func (c *conducted) results() {
	if c.study.Status != record.Complete || c.queue.total == 0 {
		return
	}
	of := func(status func(record.Trial) bool) bool {
		return slices.ContainsFunc(c.study.Trials, func(t record.Trial) bool {
			return t.Kind == record.TrialCompared && status(t)
		})
	}
	switch {
	case of(func(t record.Trial) bool { return t.Status == record.TrialDone }):
	case of(func(t record.Trial) bool { return t.Status.Begun() }):
		c.add("nothing-done", measure.Invalid, "no trial finished, so there is nothing to compare. The last one failed with: %s. "+
			"Remove the cause and repeat them with: plimsoll study resume %s --retry-failed", lastProblem(c.study.Trials), c.Dir)
		return
	default:
		c.add("nothing-done", measure.Invalid, "there was no time for any trial, so there is nothing to compare")
		return
	}
	lacking := map[bool][]string{} // by whether they are exploratory
	for _, configuration := range c.study.Configurations {
		if c.lacksResult(configuration.ID) {
			lacking[configuration.Exploratory] = append(lacking[configuration.Exploratory], configuration.ID)
		}
	}
	for exploratory, ids := range lacking {
		severity := map[bool]measure.Severity{true: measure.Warning, false: measure.Invalid}[exploratory]
		c.add("no-result", severity, "no valid trial of %s, so there is no result for %s. See why the trials failed, remove the "+
			"cause and repeat them with: plimsoll study resume %s --retry-failed",
			strings.Join(ids, ", "), map[bool]string{true: "it", false: "them"}[len(ids) == 1], c.Dir)
	}
}

// lacksResult reports whether a configuration has no valid trial, although there was time for its trials.
func (c *conducted) lacksResult(configuration string) bool {
	left, others := false, false
	for _, t := range c.study.Trials {
		switch {
		case t.Configuration != configuration || t.Kind != record.TrialCompared:
		case t.Status == record.TrialDone && !worthless(t):
			return false
		case t.Status == record.TrialLeft:
			left = true
		default:
			others = true
		}
	}
	return others || !left
}

// leftOut finds trials that were skipped for lack of time.
func (c *conducted) leftOut() {
	count, why, begun := 0, "", map[string]bool{}
	for _, t := range c.study.Trials {
		switch {
		case t.Kind != record.TrialCompared:
		case t.Status == record.TrialLeft:
			count++
			why = t.Problem
		case t.Status.Begun():
			begun[t.Configuration] = true
		}
	}
	if count == 0 || c.study.Specification.UntilDecided { // it is what was asked
		return
	}
	severity, text := measure.Note, ""
	var without []string
	for _, configuration := range c.study.Configurations {
		if !begun[configuration.ID] {
			without = append(without, configuration.ID)
		}
	}
	if len(without) > 0 {
		severity, text = measure.Warning, ". There is no result for "+strings.Join(without, ", ")
	}
	c.add("cut-short", severity, "%d of %s were skipped, in complete blocks, because there was not enough time (%s). The result "+
		"is from the others%s", count, figure.Plural(c.queue.total, "trial"), why, text)
}
