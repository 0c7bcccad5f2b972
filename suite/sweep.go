package suite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// The labels of labs that say who brought them up, by the directory of the record: as studies and drills write them,
// and as this package does for its probes.
var ownerLabels = []string{record.KindStudy, record.KindDrill, record.KindProbe}

// labOf is the lab that a part brings up.
func labOf(plan record.PartPlan) string {
	switch {
	case plan.Study != nil && plan.Study.Lab != nil:
		return plan.Study.Lab.Name
	case plan.Drill != nil && plan.Drill.Lab != nil:
		return plan.Drill.Lab.Name
	case plan.Probe != nil:
		return probeLabName(plan.Name)
	}
	return ""
}

// sweep removes the lab that a part will bring up, if it was left by an earlier attempt, by another part of this suite,
// or by a study, drill or suite that was killed. A lab of somebody else stays, and the part reports it.
func (c *session) sweep(ctx context.Context, dir string, plan record.PartPlan) error {
	name := labOf(plan)
	if name == "" || c.o.Labs == nil {
		return nil
	}
	l, err := c.o.Labs.Find(ctx, name)
	if err != nil {
		return fmt.Errorf("cannot find the lab %s: %w", name, err)
	}
	if l == nil {
		return nil
	}
	owner := ownerOf(l)
	if owner == "" || !c.ours(owner) && !over(owner) {
		return nil
	}
	if own, err := filepath.Abs(dir); err == nil && own == owner && plan.Study != nil {
		return nil // the study knows what it brought up
	}
	c.o.Progress.Note(fmt.Sprintf("removing the lab %s, which %s left behind", name, owner))
	if err := c.o.Labs.Down(ctx, name); err != nil {
		return fmt.Errorf("cannot remove the lab %s, which %s left behind: %w", name, owner, err)
	}
	return nil
}

func ownerOf(l *record.Lab) string {
	for _, label := range ownerLabels {
		if dir := l.Specification.Labels[label]; dir != "" {
			return dir
		}
	}
	return ""
}

// ours reports whether a directory is below this suite.
func (c *session) ours(dir string) bool {
	parts, err := filepath.Abs(filepath.Join(c.Dir, record.PartsDir))
	return err == nil && strings.HasPrefix(dir, parts+string(filepath.Separator))
}

// over reports whether a directory has a record, and neither it nor its suite is being written.
func over(dir string) bool {
	for _, d := range []string{dir, filepath.Dir(filepath.Dir(dir))} {
		if _, held := record.Holder(d); held {
			return false
		}
	}
	r, err := record.Open(dir)
	return err == nil && slices.Contains([]string{record.KindStudy, record.KindDrill, record.KindProbe}, r.Common().Kind)
}
