package topology

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// The durability levels of documentdb. FerretDB ignores write concerns, so each level has its own gateway, whose
// sessions use the synchronous_commit closest to the write concern:
//
//	level                 w, j in MongoDB       synchronous_commit  acknowledged when
//	throughput            w:0                   off                 unacknowledged
//	balanced              w:1, j:false          off                 the primary has it in memory
//	durable               w:1, j:true           local               the primary has it on disk
//	majority-unjournaled  w:majority, j:false   remote_write        the primary has it on disk, k standbys in memory
//	majority              w:majority, j:true    on                  k standbys and the primary have it on disk
//
// Patroni sets synchronous_standby_names to ANY k of the standbys that stream, so that k standbys and the primary are a
// majority. While standbys are away it lowers k, down to 1; without any standby writes at the level majority wait. With
// topology.acknowledge: N the levels wN and wN-unjournaled replace the last two, and k is N-1: the setting applies to
// the whole server, so no session can wait for another number. A single member is its own majority. It has the gateways
// balanced and durable; durable also serves majority.
const (
	levelThroughput          = "throughput"
	levelBalanced            = "balanced"
	levelDurable             = "durable"
	levelMajority            = "majority"
	levelMajorityUnjournaled = "majority-unjournaled"
)

// gatewayLevel is the durability level of a gateway.
type gatewayLevel struct {
	name   string
	commit string // synchronous_commit
}

// gatewayLevels returns the levels of a cluster, the default first.
func gatewayLevels(members, waits int) []gatewayLevel {
	if members == 1 {
		return []gatewayLevel{{levelDurable, "on"}, {levelBalanced, "off"}}
	}
	many, unjournaled := levelMajority, levelMajorityUnjournaled
	if waits > 0 {
		many = countLevel(waits)
		unjournaled = many + unjournaledSuffix
	}
	return []gatewayLevel{{many, "on"}, {levelDurable, "local"}, {levelBalanced, "off"}, {unjournaled, "remote_write"}}
}

// unjournaledSuffix ends the names of levels that do not wait for the disks of standbys.
const unjournaledSuffix = "-unjournaled"

// acknowledgements is the number of members that the strongest levels wait for, 0 for a majority.
func acknowledgements(asked spec.Lab) int {
	if documentDBMembers(asked) == 1 {
		return 0
	}
	return int(asked.Topology.Acknowledge)
}

// syncStandbys is k of the table above.
func syncStandbys(asked spec.Lab) int {
	if n := acknowledgements(asked); n > 0 {
		return n - 1
	}
	return quorum(documentDBMembers(asked))
}

func countLevel(n int) string { return "w" + strconv.Itoa(n) }

// levelCount is N of the levels wN and wN-unjournaled, and 0 for other levels.
func levelCount(level string) int {
	text, ok := strings.CutPrefix(strings.TrimSuffix(level, unjournaledSuffix), "w")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return n
}

// levelNames returns the keys of a gateway in [Cluster.URIs].
func levelNames(level string, members int) []string {
	names := []string{level}
	switch {
	case level == levelBalanced:
		names = append(names, levelThroughput)
	case level == levelDurable && members == 1:
		names = append(names, "", levelMajority)
	case level == levelMajority, levelCount(level) > 0 && !strings.HasSuffix(level, unjournaledSuffix):
		names = append(names, "")
	}
	return names
}

// LevelMeaning describes a durability level in a cluster with the given number of members with data; "" for an unknown
// level.
func LevelMeaning(level string, members int) string {
	who := "the primary"
	if members == 1 {
		who = "the member"
	}
	switch level {
	case levelThroughput:
		return "unacknowledged (w:0)"
	case levelBalanced:
		return "acknowledged when " + who + " has it in memory (w:1, j:false)"
	case levelDurable:
		return "acknowledged when " + who + " has it on disk (w:1, j:true)"
	case levelMajority:
		if members == 1 {
			return "same as durable: a single member is its own majority"
		}
		return "acknowledged when a majority has it on disk (w:majority, j:true)"
	case levelMajorityUnjournaled:
		return "acknowledged when a majority has it, the primary on disk (w:majority, j:false)"
	}
	switch n := levelCount(level); {
	case n == 0:
		return ""
	case strings.HasSuffix(level, unjournaledSuffix):
		return fmt.Sprintf("acknowledged when %d members have it, the primary on disk (w:%[1]d, j:false)", n)
	default:
		return fmt.Sprintf("acknowledged when %d members have it on disk (w:%[1]d, j:true)", n)
	}
}

// quorum is the number of standbys that are a majority together with the primary.
func quorum(members int) int { return members / 2 }

// AddressFor returns the address of the gateway for a durability. uris are those of [Cluster.URIs], members is the
// number of members with data. It returns an error if no gateway has that durability: a weaker one would make the
// result of a run wrong. As everywhere, "durable" and "balanced" wait for one member unless w is given.
func AddressFor(uris map[string]string, d spec.Durability, members int) (uri, level string, err error) {
	if err := checkReads(d); err != nil {
		return "", "", err
	}
	waits := 0
	for name := range uris {
		waits = max(waits, levelCount(name))
	}
	level, err = levelFor(d, members, waits)
	if err != nil {
		return "", "", err
	}
	if d.Writes() == (spec.Durability{}) {
		if uri, ok := uris[""]; ok {
			return uri, level, nil
		}
	}
	if members == 1 && level == levelMajorityUnjournaled {
		level = levelBalanced
	}
	uri, ok := uris[level]
	if !ok {
		known := slices.DeleteFunc(slices.Sorted(maps.Keys(uris)), func(s string) bool { return s == "" })
		return "", "", fmt.Errorf("the lab has no gateway for the durability level %q; use one of: %s",
			level, strings.Join(known, ", "))
	}
	return uri, level, nil
}

// levelFor translates a write concern into a level.
func levelFor(d spec.Durability, members, waits int) (string, error) {
	w, journal := d.W, false
	switch d.Name {
	case levelThroughput:
		w = cmp.Or(w, "0")
	case levelBalanced:
		w = cmp.Or(w, "1")
	case levelDurable:
		w, journal = cmp.Or(w, "1"), true
	case "":
		journal = w == "" || w == levelMajority // writeConcernMajorityJournalDefault
		if w == "" && waits > 0 {
			w = strconv.Itoa(waits)
		}
		w = cmp.Or(w, levelMajority)
	default:
		return "", fmt.Errorf("unknown durability level %q; use throughput, balanced or durable, or w and journal", d.Name)
	}
	if d.Journal != nil {
		journal = *d.Journal
	}
	many, err := waitsForStandbys(w, members, waits)
	switch {
	case err != nil:
		return "", err
	case w == "0":
		return levelThroughput, nil
	case many && waits > 0 && journal:
		return countLevel(waits), nil
	case many && waits > 0:
		return countLevel(waits) + unjournaledSuffix, nil
	case many && journal:
		return levelMajority, nil
	case many:
		return levelMajorityUnjournaled, nil
	case journal:
		return levelDurable, nil
	}
	return levelBalanced, nil
}

// waitsForStandbys reports whether w needs standbys. It returns an error for a number that no gateway waits for: one
// setting of PostgreSQL applies to all sessions. That is a majority, or topology.acknowledge of the lab.
func waitsForStandbys(w string, members, waits int) (bool, error) {
	majority := quorum(members) + 1
	if waits > 0 && (w == levelMajority && waits != majority ||
		w != levelMajority && w != "0" && w != "1" && w != strconv.Itoa(waits)) {
		return false, fmt.Errorf("w: %s: this lab has the levels w: 0, 1 and %d (topology.acknowledge: %[2]d); "+
			"leave acknowledge out for a majority", w, waits)
	}
	if w == levelMajority {
		return true, nil
	}
	n, err := strconv.Atoi(w)
	switch {
	case err != nil:
		return false, fmt.Errorf("w: %s: documentdb has no member tags; use w: 0, 1 or majority", w)
	case n < 0 || n > members:
		return false, fmt.Errorf("w: %d: the lab has %d members with data; use w: 0, 1 or majority (%d)", n, members, majority)
	case n > majority && waits == 0:
		return false, fmt.Errorf("w: %d: no gateway waits for %[1]d of %d members; use w: 0, 1 or majority (%d), "+
			"or bring the lab up with topology: {acknowledge: %[1]d}", n, members, majority)
	case n > 1 && n < majority:
		return false, fmt.Errorf("w: %d: no gateway waits for %[1]d of %d members; use w: 0, 1 or majority (%d)",
			n, members, majority)
	}
	return n > 1, nil
}

// checkReads refuses read options other than those of the gateways, which read from the primary.
func checkReads(d spec.Durability) error {
	switch {
	case d.ReadPreference == "secondary":
		return errors.New("read preference secondary: the gateways of documentdb read only from the primary; " +
			"leave it out, or use the engine mongod")
	case d.Causal:
		return errors.New("causal: documentdb has no causally consistent sessions; leave causal out, or use the engine mongod")
	case d.ReadConcern == "linearizable" || d.ReadConcern == "snapshot":
		return fmt.Errorf("read concern %s: documentdb does not support it; leave it out, or use the engine mongod", d.ReadConcern)
	}
	return nil
}
