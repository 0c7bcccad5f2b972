package drill

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// levelMajority is the write concern of a majority.
const levelMajority = "majority"

// circumstances are what the promise of an acknowledged write depends on.
type circumstances struct {
	// level is that of the servers that were loaded, where a lab has servers for each; concern says nothing then.
	level   string
	concern writeConcern
	// topology is "standalone", "replica set" or "sharded"; "gateway" of one that ignores write concerns.
	topology string
	// majorityJournal is writeConcernMajorityJournalDefault of the set, nil where that is not known.
	majorityJournal *bool
	members         int  // with data, of the set that was struck; 0 if that is not known
	struck          int  // of those, how many were down or away at the same time
	changed         bool // another member is the primary than before
	hidden          bool // nobody tells here whether another member took over
}

// The grades say where a write is when it is acknowledged.
const (
	gradeNowhere        = "nowhere"         // nobody confirmed it
	gradeMemory         = "memory"          // in the memory of one member
	gradeDisk           = "disk"            // in the journal of one member
	gradeSome           = "some"            // on several members, and not on a majority
	gradeMajorityMemory = "majority memory" // in the memory of a majority
	gradeMajorityDisk   = "majority disk"   // in the journals of a majority
	gradeUnknown        = "unknown"
)

// grades is what an acknowledgement means, the first row that fits; "*" fits everything. The columns are the write
// concern w ("most" is a number that makes a majority, "several" one that does not), j, where the writes went, and
// writeConcernMajorityJournalDefault.
//
// From MongoDB's manual: "Write Concern", Acknowledgment Behavior (w:1 without j is acknowledged from memory; majority
// without j waits for journals if writeConcernMajorityJournalDefault is true, which is the default); "Journaling" (the
// journal is written every storage.journal.commitIntervalMs, 100 ms unless set). That setting belongs to a set's
// configuration, which a standalone does not have: there majority without j is acknowledged from memory (server 4.4,
// populateUnsetWriteConcernOptionsSyncMode).
var grades = []struct{ w, j, topology, journals, grade string }{
	{"0", "*", "*", "*", gradeNowhere},
	{"tag", "*", "*", "*", gradeUnknown},
	{"unknown", "*", "*", "*", gradeUnknown},
	{"*", "*", "gateway", "*", gradeUnknown},
	{"1", "true", "*", "*", gradeDisk},
	{"1", "*", "*", "*", gradeMemory},
	{"*", "true", "standalone", "*", gradeDisk},
	{"*", "*", "standalone", "*", gradeMemory},
	{"several", "*", "*", "*", gradeSome},
	{"most", "true", "*", "*", gradeMajorityDisk},
	{"most", "*", "*", "*", gradeMajorityMemory},
	{"majority", "true", "*", "*", gradeMajorityDisk},
	{"majority", "false", "*", "*", gradeMajorityMemory},
	{"majority", "unset", "*", "false", gradeMajorityMemory},
	{"majority", "unset", "*", "*", gradeMajorityDisk},
}

// levelGrades is what the levels of a lab's gateways mean (lab/topology, documentdb). Those that are not here wait for
// a majority or for more (w3), and have its promise.
var levelGrades = map[string]string{"throughput": gradeNowhere, "balanced": gradeMemory, "durable": gradeDisk}

// What happened to the member that had the write.
const (
	happenedAny     = "*"
	happenedTaken   = "another took over"
	happenedHidden  = "not seen"
	happenedMany    = "a majority at once" // or more of them
	happenedAlone   = "the only member"
	happenedSeveral = "several"
)

// survivals is what a grade promises under what happened, the first row that fits, and why.
var survivals = []struct{ grade, happened, loss, why string }{
	{gradeUnknown, happenedAny, spec.LossUnknown, "losses are counted and not judged; say what you expect (--expect-loss none), or ask for a durability (--durability, --w)"},
	{gradeNowhere, happenedAny, spec.LossAny, "nobody confirms these writes, so any of the last of them may be lost; the window is measured"},
	{gradeMemory, happenedAny, spec.LossAny, "a write is acknowledged from the memory of one member and is on its disk a moment later " +
		"(mongod writes its journal every 100 ms), so the last ones may be lost; the window is measured"},
	{gradeSome, happenedAny, spec.LossAny, "a write is on several members when it is acknowledged, and they are no majority: a member without it may take over, so losses are counted and not judged"},
	{gradeDisk, happenedTaken, spec.LossAny, "a write is on the disk of one member when it is acknowledged, and another member took over; writes that it had not received may be lost"},
	{gradeDisk, happenedHidden, spec.LossAny, "a write is on the disk of one member when it is acknowledged, and whether another member took over cannot be seen from here; " +
		"so losses are counted and not judged, unless the drill says what is expected (--expect-loss none)"},
	{gradeDisk, happenedAny, spec.LossNone, "a write is on the primary's disk when it is acknowledged, and that primary came back, so nothing may be lost"},
	{gradeMajorityMemory, happenedAlone, spec.LossAny, "a majority of one member: a write is acknowledged from its memory, so the last ones may be lost; the window is measured"},
	{gradeMajorityDisk, happenedAlone, spec.LossNone, "a majority of one member: a write is on its disk when it is acknowledged, so nothing may be lost"},
	{gradeMajorityMemory, happenedMany, spec.LossAny, "%d of %d members failed at once, so writes that only they had may be lost when the rest takes over"},
	{gradeMajorityDisk, happenedMany, spec.LossAny, "%d of %d members failed at once, so writes that only they had may be lost when the rest takes over"},
	{gradeMajorityMemory, happenedSeveral, spec.LossNone, "a write is on most members when it is acknowledged, so the failure of %d of %d may lose none"},
	{gradeMajorityDisk, happenedSeveral, spec.LossNone, "a write is on most members when it is acknowledged, so the failure of %d of %d may lose none"},
	{gradeMajorityMemory, happenedAny, spec.LossNone, "a write is on most members when it is acknowledged, so no single failure may lose any"},
	{gradeMajorityDisk, happenedAny, spec.LossNone, "a write is on most members when it is acknowledged, so no single failure may lose any"},
}

// columns are the first four columns of [grades] for these circumstances.
func (c circumstances) columns() (w, j, topology, journals string) {
	said := func(b *bool, none string) string {
		if b == nil {
			return none
		}
		return strconv.FormatBool(*b)
	}
	n, err := strconv.Atoi(c.concern.w)
	switch w = c.concern.w; {
	case w == "":
		w = "unknown"
	case w == levelMajority:
	case err != nil:
		w = "tag"
	case n < 2:
	case c.members > 0 && n > c.members/2:
		w = "most"
	default:
		w = "several"
	}
	return w, said(c.concern.journal, "unset"), c.topology, said(c.majorityJournal, "unknown")
}

// grade is where a write is when it is acknowledged.
func (c circumstances) grade() string {
	if c.level != "" {
		return cmp.Or(levelGrades[c.level], gradeMajorityDisk) // unjournaled, it is on the disk of the primary at least
	}
	w, j, topology, journals := c.columns()
	fits := func(pattern, value string) bool { return pattern == "*" || pattern == value }
	for _, row := range grades {
		if fits(row.w, w) && fits(row.j, j) && fits(row.topology, topology) && fits(row.journals, journals) {
			return row.grade
		}
	}
	return gradeUnknown
}

// happened says whether something of a row of [survivals] is what happened.
func (c circumstances) happened(what string) bool {
	switch what {
	case happenedTaken:
		return c.changed
	case happenedHidden:
		return c.hidden
	case happenedAlone:
		return c.members == 1
	case happenedMany:
		return c.members > 1 && c.struck > c.members/2
	case happenedSeveral:
		return c.struck > 1
	}
	return true
}

// promise is what an acknowledgement promises of losses under what happened, and why.
func (c circumstances) promise() (loss, why string) {
	grade := c.grade()
	for _, row := range survivals {
		if row.grade != grade || !c.happened(row.happened) {
			continue
		}
		why = row.why
		if strings.Contains(why, "%d") {
			why = fmt.Sprintf(why, c.struck, c.members)
		}
		return row.loss, c.asked() + ": " + why
	}
	return spec.LossUnknown, c.asked() + ": nothing is known of this level"
}

// asked says which write concern the writes had, and who asked for it.
func (c circumstances) asked() string {
	if c.level != "" {
		return c.level
	}
	d := c.concern
	switch {
	case c.topology == "gateway":
		return "the server ignores write concerns"
	case d.w == "" && d.problem != "":
		return "nobody asked for a write concern, and the server's default could not be read (" + d.problem + ")"
	case d.w == "":
		return "the write concern is not known"
	}
	text := "w: " + d.w
	if d.journal != nil {
		text += ", j: " + strconv.FormatBool(*d.journal)
	}
	text += " (" + d.source + ")"
	if _, err := strconv.Atoi(d.w); err != nil && d.w != levelMajority {
		text += " is a name of this deployment, and how many members it means is not known"
	}
	return text
}
