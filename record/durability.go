package record

import "strconv"

// levelW and levelJournal are what the durability levels mean where nothing is said beside them. "balanced" and "durable"
// mean one member, because only then they mean the same on a standalone server and on a replica set.
var (
	levelW       = map[string]string{"throughput": "0", "balanced": "1", "durable": "1"}
	levelJournal = map[string]bool{"balanced": false, "durable": true}
)

// Effective is the specification with what its level means written out. An explicit W or Journal wins over the level's.
func (d DurabilitySpec) Effective() DurabilitySpec {
	if d.W == "" {
		d.W = levelW[d.Name]
	}
	if j, ok := levelJournal[d.Name]; ok && d.Journal == nil {
		d.Journal = &j
	}
	return d
}

// Asked are the parts of the write concern that are asked for, as "w: 1" and "j: true"; none leaves all to the server.
func (d DurabilitySpec) Asked() (parts []string) {
	d = d.Effective()
	if d.W != "" {
		parts = append(parts, "w: "+d.W)
	}
	if d.Journal != nil {
		parts = append(parts, "j: "+strconv.FormatBool(*d.Journal))
	}
	return parts
}
