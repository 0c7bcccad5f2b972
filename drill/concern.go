package drill

import (
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// writeConcern is that of a round's writes. As in clients, each field comes from the first of these that has it: the
// durability of the drill, the address, the server's default.
type writeConcern struct {
	w       string // "0", "1", "2", …, "majority" or a tag; "" if not known
	journal *bool  // nil leaves it to the server
	source  string // of w, as the end of a sentence
	problem string // why w is not known
}

// gateway is the topology of a server that ignores write concerns, if the drill requests none.
const gateway = "gateway"

// concernOf returns the write concern. target is the server's default.
func concernOf(asked spec.Durability, uri string, target server.Concerns) writeConcern {
	d := asked.At(uri)
	c := writeConcern{w: d.W, journal: d.Journal, source: "the durability of the drill"}
	if asked.Effective().W == "" {
		c.source = "the address"
	}
	if c.w != "" {
		return c
	}
	c.w, c.problem = target.W, target.Problem
	switch target.Source {
	case server.Global:
		c.source = "the deployment's default, set by setDefaultRWConcern"
	case server.Legacy:
		c.source = "the default in the set's configuration, getLastErrorDefaults"
	default:
		c.source = "the server's own default"
	}
	if c.journal == nil && c.w != "" {
		c.journal = target.Journal
	}
	return c
}
