package conduct

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// A target that cannot be reached stops a study, because nothing is gained by failing all its trials: they are repeated
// when the study goes on. Where configurations have different targets, only the trials of that one fail, and the study
// goes on with the others; it stops once none of its targets could be reached.

// doorOf is what it depends on whether a target can be reached.
func doorOf(asked spec.Run) string { return asked.Target + " " + asked.Client }

// notReached says what becomes of a trial whose target cannot be reached, and of the study.
func (c *conductor) notReached(t *record.Trial, j job, err error) error {
	c.unreached[doorOf(j.spec)] = append(c.unreached[doorOf(j.spec)], *t)
	t.Problem = err.Error()
	doors := map[string]bool{}
	if j.procedure == "" {
		for _, spec := range c.specs {
			doors[doorOf(spec)] = true
		}
	}
	if len(doors) > len(c.unreached) {
		t.Status = record.TrialFailed
		return nil
	}
	t.Status = record.TrialLost
	text := fmt.Sprintf("trial %d: %v. Then", t.Number, err)
	if len(c.unreached) > 1 {
		text = fmt.Sprintf("none of the %d targets of the study can be reached (%s), the last one because: %v. Then",
			len(c.unreached), c.unreachedNames(), err)
	}
	return &Stop{Reason: Unreachable, Err: err, Text: text + " go on with plimsoll study resume " + c.o.Dir}
}

func (c *conductor) unreachedNames() string {
	var names []string
	for _, door := range slices.Sorted(maps.Keys(c.unreached)) {
		address, client, _ := strings.Cut(door, " ")
		name := store.Redact(address)
		if slices.Contains(names, name) {
			name += " with client " + client
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// wasNotReached reports whether a trial failed because its target was not there. It says nothing about the others.
func (c *conductor) wasNotReached(t record.Trial) bool {
	for _, trials := range c.unreached {
		for _, u := range trials {
			if u.Number == t.Number && u.Kind == t.Kind {
				return true
			}
		}
	}
	return false
}

// giveBack marks the trials as lost that failed since a target was reached last: it was not their configurations, so
// they are to be repeated.
func (c *conductor) giveBack() error {
	var list []record.Trial
	for _, trials := range c.unreached {
		for _, u := range trials {
			for _, t := range c.study.Trials {
				if t.Number == u.Number && t.Attempt == u.Attempt && t.Kind == u.Kind && t.Status == record.TrialFailed {
					list = append(list, t)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b record.Trial) int { return cmp.Compare(a.Number, b.Number) })
	for _, t := range list {
		t.Status = record.TrialLost
		if err := c.note(record.EventEnd, t, job{}, nil); err != nil {
			return err
		}
	}
	return nil
}
