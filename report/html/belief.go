package html

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// judged is a point about something that was looked at: good where it is as it should be.
func judged(good bool, kind, yes, no string) Point {
	switch {
	case good:
		return Point{"good", "✓", yes}
	case kind == "bad":
		return Point{"bad", "✗", no}
	}
	return Point{"warn", "!", no}
}

// drillBadges say what was looked at in the rounds that are over, so that a reader knows what the verdict rests on.
func drillBadges(d *record.Drill) []Point {
	over, complete, unhit, unread, unjudged, seeds, found := 0, 0, 0, 0, 0, 0, 0
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Status == record.Running {
			continue
		}
		over++
		if r.Status == record.Complete {
			complete++
		}
		for _, f := range r.Faults {
			if !f.Hit {
				unhit++
			}
		}
		unread += len(r.Unread)
		if r.Ledger == nil {
			unjudged++
		}
		seeds, found = seeds+r.Seeds, found+r.SeedsFound
	}
	if over == 0 {
		return nil
	}
	list := []Point{
		judged(complete == over, "warn", figure.Plural(over, "round")+" complete", fmt.Sprintf("%d of %s complete", complete, figure.Plural(over, "round"))),
		judged(unhit == 0, "bad", "each fault took effect", figure.Plural(unhit, "fault")+" without effect"),
		judged(unjudged == 0, "bad", "all writes judged", "writes not judged in "+figure.Plural(unjudged, "round")),
		judged(unread == 0, "warn", "all members read", "some members not read"),
	}
	if seeds > 0 {
		list = append(list, judged(found == seeds, "bad", "older records still there", figure.Count(int64(seeds-found))+" older records gone"))
	}
	return list
}

// drillReasons are why the verdict is what it is.
func drillReasons(d *record.Drill) (list []Point) {
	for _, text := range d.Reasons {
		list = append(list, judged(d.Verdict == record.Holds, map[bool]string{true: "bad"}[d.Verdict == record.Violated], text, text))
	}
	return list
}

// probeBadges say what was looked at, so that a reader knows what the figures rest on.
func probeBadges(p *record.Probe) []Point {
	list := []Point{judged(p.Status == record.Complete, "warn", figure.Plural(len(p.Steps), "step")+" measured", "not all steps measured")}
	if p.Verdict != "" {
		kind := map[bool]string{true: "bad"}[p.Verdict == record.Lying]
		list = append(list, judged(p.Verdict == record.Honest, kind, "flushes reach the device", map[bool]string{true: "flushes do not reach the device", false: "flushes not proven"}[kind == "bad"]))
	}
	if p.Status == record.Complete {
		list = append(list, judged(len(p.Validity) == 0, "warn", "nothing disturbed it", figure.Plural(len(p.Validity), "finding")+" about it"))
	}
	return list
}
