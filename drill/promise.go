package drill

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The durability levels that promises are made for.
const (
	levelThroughput = "throughput"
	levelBalanced   = "balanced"
	levelDurable    = "durable"
	levelMajority   = "majority"
)

// circumstances are what the promise of a durability level depends on.
type circumstances struct {
	durability record.DurabilitySpec
	level      string // of the servers that were loaded, where a lab has servers for each
	members    int    // with data; 0 if that is not known
	changed    bool   // another member is the primary than before
	struck     int    // members with data that were down or away at the same time
	hidden     bool   // nobody tells here whether another member took over
}

// asked is the durability that a run gets: that of its specification or, where that says nothing, the default of a set of
// mongod, which is majority since 5.0, and w:1 before that and where arbiters leave too few members with data.
func asked(d record.DurabilitySpec, lab record.Lab) record.DurabilitySpec {
	if d != (record.DurabilitySpec{}) {
		return d
	}
	for _, m := range lab.Members {
		if m.Kind == "mongod" && m.Role == "primary" && len(m.Settings) > 0 {
			d.W = cmp.Or(m.Settings["defaultWriteConcern.w"], "1")
		}
	}
	return d
}

// levelOf names the durability level that a run asked for.
func (c circumstances) levelOf() string {
	d := c.durability
	switch {
	case c.level == "majority-unjournaled":
		return levelMajority
	case c.level != "":
		return c.level
	case d.W == "0" || d.W == "" && d.Name == levelThroughput:
		return levelThroughput
	case d.W == levelMajority, d.W == "" && d.Name == "":
		return levelMajority // what MongoDB does when nothing is said
	case d.Name == levelDurable && d.Journal == nil, d.Journal != nil && *d.Journal:
		return levelDurable
	}
	return levelBalanced
}

// promise is what a durability level promises of losses under what happened, and why.
func (c circumstances) promise() (loss, why string) {
	switch level := c.levelOf(); {
	case level == levelThroughput:
		return record.LossAny, "throughput: nobody confirms these writes, so any of the last of them may be lost; the window is measured"
	case level == levelBalanced:
		return record.LossAny, "balanced: a write is acknowledged before it is on any disk, so the last ones may be lost; the window is measured"
	case level == levelDurable && c.changed:
		return record.LossAny, "durable: a write is on the disk of one member when it is acknowledged, and another member took over; what that one had not yet received may be lost"
	case level == levelDurable && c.hidden:
		return record.LossAny, "durable: a write is on the disk of one member when it is acknowledged, and whether another member took over cannot be seen from here; so losses are counted and not judged, unless the drill says what is expected (--expect-loss none)"
	case level == levelDurable:
		return record.LossNone, "durable: a write is on the primary's disk when it is acknowledged, and that primary came back, so nothing may be lost"
	case c.members > 1 && c.struck > max(1, (c.members-1)/2):
		return record.LossAny, fmt.Sprintf("majority: %d of %d members failed at once, so what they alone had may be lost when the rest takes over", c.struck, c.members)
	case c.members == 1:
		return record.LossNone, "majority of one member: a write is on its disk when it is acknowledged, so nothing may be lost"
	}
	if c.struck > 1 {
		return record.LossNone, fmt.Sprintf("majority: a write is on most of %d members when it is acknowledged, so the failure of %d may lose none", c.members, c.struck)
	}
	return record.LossNone, "majority: a write is on most members when it is acknowledged, so no single failure may lose any"
}

// takesDown are the actions that keep a member from being the primary.
var takesDown = []string{lab.PowerOff, lab.PowerLoss, lab.Kill, lab.Stop, lab.Cut, lab.Pause}

// mustChange says whether an action on a primary makes another member the primary, if there is one.
func mustChange(action string) bool {
	return action == lab.StepDown || slices.Contains(takesDown, action)
}
