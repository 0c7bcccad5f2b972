package spec

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// levelW and levelJournal are what the durability levels mean where nothing is said beside them. "balanced" and
// "durable" mean one member, because only then they mean the same on a standalone server and on a replica set.
var (
	levelW       = map[string]string{"throughput": "0", "balanced": "1", "durable": "1"}
	levelJournal = map[string]bool{"balanced": false, "durable": true}
)

// Writes is the part of the specification that is about writes.
func (d Durability) Writes() Durability {
	return Durability{Name: d.Name, W: d.W, Journal: d.Journal}
}

// Effective is the specification with what its level means written out. An explicit W or Journal wins over the level's.
func (d Durability) Effective() Durability {
	if d.W == "" {
		d.W = levelW[d.Name]
	}
	if j, ok := levelJournal[d.Name]; ok && d.Journal == nil {
		d.Journal = &j
	}
	return d
}

// At is the effective specification of writes to an address: the options w and journal of a MongoDB address count where
// the specification says nothing, as in clients. A malformed address says nothing.
func (d Durability) At(address string) Durability {
	d = d.Effective()
	a, err := mongouri.Parse(address)
	if err != nil {
		return d
	}
	if d.W == "" {
		d.W, _ = a.Option("w")
	}
	if value, said := a.Option("journal", "j"); said && d.Journal == nil {
		yes := value == "true"
		d.Journal = &yes
	}
	return d
}

// Asked are the parts of the write concern that are asked for, as "w: 1" and "j: true"; none leaves all to the server.
func (d Durability) Asked() (parts []string) {
	d = d.Effective()
	if d.W != "" {
		parts = append(parts, "w: "+d.W)
	}
	if d.Journal != nil {
		parts = append(parts, "j: "+strconv.FormatBool(*d.Journal))
	}
	return parts
}

// causal says why sessions cannot be causally consistent.
func (d Durability) causal() error {
	switch {
	case !d.Causal:
		return nil
	case d.Effective().W == "0":
		return errors.New("durability.causal: the reply to a write has its time, and writes with w:0 have no reply. Set w: 1 or more, or remove causal")
	case d.ReadConcern == "available" || d.ReadConcern == "linearizable":
		return fmt.Errorf("durability.causal: servers do not combine it with read concern %s. Set local or majority, or remove causal", d.ReadConcern)
	case d.ReadConcern == "snapshot":
		return errors.New("durability.causal: snapshot reads outside of transactions have separate times. Set majority, or remove causal")
	}
	return nil
}

// Says reports whether anything of the write concern is asked for.
func (d Durability) Says() bool { return len(d.Asked()) > 0 }
