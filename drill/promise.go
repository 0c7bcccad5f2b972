package drill

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const levelMajority = "majority"

// circumstances are what the guarantee for an acknowledged write depends on.
type circumstances struct {
	// level is that of the lab's gateway, where a lab has one for each; the concern says nothing then.
	level   string
	concern writeConcern
	// topology is "standalone", "replica set", "sharded" or [gateway].
	topology string
	// majorityJournal is writeConcernMajorityJournalDefault of the set, nil if not known.
	majorityJournal *bool
	members         int  // with data, of the set that was struck; 0 if not known
	down            int  // of those, how many were down or cut off at the same time
	changed         bool // another member is primary than before
	hidden          bool // whether another member took over cannot be seen from here
}

// The grades say where a write is when it is acknowledged.
const (
	gradeNowhere        = "nowhere"         // no server confirmed it
	gradeMemory         = "memory"          // in the memory of one member
	gradeDisk           = "disk"            // in the journal of one member
	gradeSome           = "some"            // on several members, but not on a majority
	gradeMajorityMemory = "majority memory" // in the memory of a majority
	gradeMajorityDisk   = "majority disk"   // in the journals of a majority
	gradeUnknown        = "unknown"
)

// grades is where a write is when it is acknowledged, the first row that fits; "*" fits everything. The columns are the
// write concern w ("most" is a number that makes a majority, "several" one that does not), j, the topology, and
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

// levelGrades are the grades of the levels of a lab's gateways (lab/topology, documentdb). Levels that are not listed
// wait for a majority or for more (w3).
var levelGrades = map[string]string{"throughput": gradeNowhere, "balanced": gradeMemory, "durable": gradeDisk}

// What happened to the members.
const (
	happenedAny     = "*"
	happenedTaken   = "another took over"
	happenedHidden  = "not seen"
	happenedMany    = "a majority at once" // or more of them
	happenedAlone   = "the only member"
	happenedSeveral = "several"
)

// The reasons that several rows of [survivals] share.
const (
	whyManyFailed = "%d of %d members failed at once. Writes that only they had may be lost when another member becomes primary"
	whySeveral    = "a majority of the members has a write when it is acknowledged, so the failure of %d of %d loses none"
	whyMajority   = "a majority of the members has a write when it is acknowledged, so no single failure loses any"
)

// survivals is what a grade guarantees given what happened, the first row that fits, and why.
var survivals = []struct{ grade, happened, loss, why string }{
	{gradeUnknown, happenedAny, spec.LossUnknown, "losses are counted but not judged. Set what may be lost (--expect-loss), " +
		"or set the write concern (--w)"},
	{gradeNowhere, happenedAny, spec.LossAny, "the server does not confirm these writes, so recent ones may be lost. " +
		"The loss window is measured"},
	{gradeMemory, happenedTaken, spec.LossAny, "only the primary has a write when it is acknowledged. If it fails before " +
		"another member copies the write, the write is lost. The loss window is measured"},
	{gradeMemory, happenedAny, spec.LossAny, "the server acknowledges before the write reaches a disk, so recent writes may " +
		"be lost. The loss window is measured"},
	{gradeSome, happenedAny, spec.LossAny, "several members have a write when it is acknowledged, but no majority. A member " +
		"without it may become primary, so losses are counted but not judged"},
	{gradeDisk, happenedTaken, spec.LossAny, "a write is on the disk of one member when it is acknowledged, but another " +
		"member took over as primary. Writes that were not replicated yet may be lost"},
	{gradeDisk, happenedHidden, spec.LossAny, "a write is on the disk of one member when it is acknowledged, but whether " +
		"another member took over cannot be seen from here. Losses are counted but not judged, unless you say what you " +
		"expect (--expect-loss none)"},
	{gradeDisk, happenedAny, spec.LossNone, "a write is on the primary's disk when it is acknowledged, and that primary " +
		"was up again. So no acknowledged write may be lost"},
	{gradeMajorityMemory, happenedAlone, spec.LossAny, "the only member is the majority. It acknowledges a write from its " +
		"memory, so recent writes may be lost. The loss window is measured"},
	{gradeMajorityDisk, happenedAlone, spec.LossNone, "the only member is the majority. It has a write on its disk when the write is " +
		"acknowledged. So no acknowledged write may be lost"},
	{gradeMajorityMemory, happenedMany, spec.LossAny, whyManyFailed},
	{gradeMajorityDisk, happenedMany, spec.LossAny, whyManyFailed},
	{gradeMajorityMemory, happenedSeveral, spec.LossNone, whySeveral},
	{gradeMajorityDisk, happenedSeveral, spec.LossNone, whySeveral},
	{gradeMajorityMemory, happenedAny, spec.LossNone, whyMajority},
	{gradeMajorityDisk, happenedAny, spec.LossNone, whyMajority},
}

// columns returns the first four columns of [grades] for these circumstances.
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

func (c circumstances) grade() string {
	if c.level != "" {
		return cmp.Or(levelGrades[c.level], gradeMajorityDisk) // unjournaled levels: on the primary's disk at least
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

// happened reports whether a condition of [survivals] applies.
func (c circumstances) happened(what string) bool {
	switch what {
	case happenedTaken:
		return c.changed
	case happenedHidden:
		return c.hidden
	case happenedAlone:
		return c.members == 1
	case happenedMany:
		return c.members > 1 && c.down > c.members/2
	case happenedSeveral:
		return c.down > 1
	}
	return true
}

// promise returns which losses are allowed, and why.
func (c circumstances) promise() (loss, why string) {
	grade := c.grade()
	for _, row := range survivals {
		if row.grade != grade || !c.happened(row.happened) {
			continue
		}
		why = row.why
		if strings.Contains(why, "%d") {
			why = fmt.Sprintf(why, c.down, c.members)
		}
		if grade == gradeMemory && c.level == "" && row.happened != happenedTaken {
			why += ". mongod writes its journal every 100 ms"
		}
		return row.loss, c.writes() + ". " + sentence(why)
	}
	return spec.LossUnknown, c.writes() + ". This durability level is not known"
}

// writes names the write concern and where it comes from.
func (c circumstances) writes() string {
	if c.level != "" {
		return "durability level " + c.level
	}
	d := c.concern
	switch {
	case c.topology == gateway:
		return "the server ignores write concerns"
	case d.w == "" && d.problem != "":
		return "the drill sets no write concern, and the server's default could not be read: " + d.problem
	case d.w == "":
		return "the write concern is not known"
	}
	text := "write concern w:" + d.w
	if d.journal != nil {
		text += ", j:" + strconv.FormatBool(*d.journal)
	}
	text += ", from " + d.source
	if _, err := strconv.Atoi(d.w); err != nil && d.w != levelMajority {
		text += ". It is a name that this deployment defines, and it is not known how many members it means"
	}
	return text
}
