package topology

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// The durability levels of documentdb. FerretDB does not read write concerns, so each level is a gateway of its own,
// whose sessions have the synchronous_commit that comes nearest to what MongoDB means:
//
//	level                 w, j in MongoDB       synchronous_commit  acknowledged when
//	throughput            w:0                   off                 nobody waits for the answer
//	balanced              w:1, j:false          off                 the primary has it in memory
//	durable               w:1, j:true           local               the primary has it on disk
//	majority-unjournaled  w:majority, j:false   remote_write        k standbys' systems have it, the primary has it on disk
//	majority              w:majority, j:true    on                  k standbys and the primary have it on disk
//
// A specification with topology.acknowledge: N has the levels wN and wN-unjournaled in the place of the last two: k is then N-1.
// synchronous_standby_names holds for the whole server, so that no other number can be waited for beside it.
//
// k standbys and the primary are a majority otherwise: the members' synchronous_standby_names is ANY k of all others, whether
// they live or not. It is never lowered when standbys are away; writes of a majority then wait, as in MongoDB.
// A single member is its own majority: it has the gateways balanced and durable only, and durable is majority's too.
const (
	levelThroughput          = "throughput"
	levelBalanced            = "balanced"
	levelDurable             = "durable"
	levelMajority            = "majority"
	levelMajorityUnjournaled = "majority-unjournaled"
)

// gatewayLevel is one gateway: the level that names it, and what its sessions commit with.
type gatewayLevel struct {
	name   string
	commit string
}

// gatewayLevels are the gateways of a cluster, the one to use by default first.
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

// unjournaledSuffix is the end of levels whose standbys need not have a write on disk.
const unjournaledSuffix = "-unjournaled"

// waits is the number of members that the levels above one wait for, 0 for a majority.
func acknowledgements(asked spec.Lab) int {
	if documentDBMembers(asked) == 1 {
		return 0
	}
	return int(asked.Topology.Acknowledge)
}

// acknowledging is how many standbys a commit waits for that waits for standbys at all.
func (c *documentDB) syncStandbys(members int) int {
	if n := acknowledgements(c.site.Spec); n > 0 {
		return n - 1
	}
	return quorum(members)
}

func countLevel(n int) string { return "w" + strconv.Itoa(n) }

// numberOf is the number of members that a level by number waits for, and 0 of any other level.
func levelCount(level string) int {
	text, ok := strings.CutPrefix(strings.TrimSuffix(level, unjournaledSuffix), "w")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return n
}

// levelNames are the names under which a gateway is found among the addresses, the default address included.
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

// LevelMeans says in a few words what a durability level promises in a cluster of so many members with data; nothing of
// a level that is not known.
func LevelMeaning(level string, members int) string {
	who := "the primary"
	if members == 1 {
		who = "the member"
	}
	switch level {
	case levelThroughput:
		return "nobody waits for an answer (w:0)"
	case levelBalanced:
		return "acknowledged when " + who + " has it in memory (w:1, j:false)"
	case levelDurable:
		return "acknowledged when " + who + " has it on disk (w:1, j:true)"
	case levelMajority:
		if members == 1 {
			return "the same as durable: a single member is its own majority"
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

// quorum is how many standbys make a majority together with the primary.
func quorum(members int) int { return members / 2 }

// AddressFor finds the gateway of a cluster of documentdb that means the durability that was asked for. uris are those
// of [Cluster.URIs] and members is how many have data. What no gateway means is refused: a run that asked for more
// than it got would be a wrong claim. As everywhere, "durable" and "balanced" are about one member unless w says more.
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
		return "", "", fmt.Errorf("the lab has no gateway of the durability level %q (it has: %s)", level, strings.Join(known, ", "))
	}
	return uri, level, nil
}

// levelFor translates a write concern.
func levelFor(d spec.Durability, members, waits int) (string, error) {
	w, journal := d.W, false
	switch d.Name {
	case levelThroughput:
		w = firstNonEmpty(w, "0")
	case levelBalanced:
		w = firstNonEmpty(w, "1")
	case levelDurable:
		w, journal = firstNonEmpty(w, "1"), true
	case "":
		journal = w == "" || w == levelMajority // writeConcernMajorityJournalDefault
		w = firstNonEmpty(w, defaultW(waits))
	default:
		return "", fmt.Errorf("the durability level %q is not known: say throughput, balanced or durable, or w and journal", d.Name)
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

// usual is what is waited for when nothing is said: a majority as in MongoDB, or the number that the lab was made for.
func defaultW(waits int) string {
	if waits > 0 {
		return strconv.Itoa(waits)
	}
	return levelMajority
}

// wantsMany says whether w is about more than the primary, and refuses a number that no gateway means: one setting of
// PostgreSQL's says for all sessions how many standbys are waited for. It is a majority unless the lab was made for a number.
func waitsForStandbys(w string, members, waits int) (bool, error) {
	majority := quorum(members) + 1
	if waits > 0 && (w == levelMajority && waits != majority || w != levelMajority && w != "0" && w != "1" && w != strconv.Itoa(waits)) {
		return false, fmt.Errorf("w: %s: this lab waits for %d members in all its sessions (topology.acknowledge: %[2]d); its levels are w: 0, 1 and %[2]d. Leave acknowledge out for a majority", w, waits)
	}
	if w == levelMajority {
		return true, nil
	}
	n, err := strconv.Atoi(w)
	switch {
	case err != nil:
		return false, fmt.Errorf("w: %s: documentdb has no tags of members; its levels are w: 0, 1 and majority", w)
	case n < 0 || n > members:
		return false, fmt.Errorf("w: %d: the lab has %d members with data; its levels are w: 0, 1 and majority (%d)", n, members, majority)
	case n > majority && waits == 0:
		return false, fmt.Errorf("w: %d: no gateway waits for %d of %d members; the levels of documentdb are w: 0, 1 and majority (%d), or bring the lab up with topology: {acknowledge: %[1]d}", n, n, members, majority)
	case n > 1 && n < majority:
		return false, fmt.Errorf("w: %d: no gateway waits for %d of %d members; the levels of documentdb are w: 0, 1 and majority (%d)", n, n, members, majority)
	}
	return n > 1, nil
}

// checkReads refuses reads that gateways do not do: all of them read what the primary has now.
func checkReads(d spec.Durability) error {
	switch {
	case d.ReadPreference == "secondary":
		return fmt.Errorf("read preference secondary: the gateways of documentdb read from the primary only; leave it out, or use the engine mongod")
	case d.Causal:
		return fmt.Errorf("causally consistent sessions: documentdb has none; leave causal out, or use the engine mongod")
	case d.ReadConcern == "linearizable" || d.ReadConcern == "snapshot":
		return fmt.Errorf("read concern %s: documentdb has it not; leave it out, or use the engine mongod", d.ReadConcern)
	}
	return nil
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
