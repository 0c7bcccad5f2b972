package drill

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// sharded says whether the target is a sharded cluster.
func (r *round) sharded() bool {
	return r.lab != nil && r.before.Specification.Topology.Kind == spec.LabSharded ||
		r.lab == nil && r.uri != "" && r.identity.Topology() == "sharded"
}

// checkedKeys is how many keys a router is asked for, to hold the placement against what it says.
const checkedKeys = 8

// placement finds out, just before the load, how its collections are spread: from the chunks that the cluster's own
// data name, held against what a router says of some keys. Where that cannot be known the round says why.
func (r *round) placement() {
	if !r.sharded() || r.books.wrapped == nil {
		return
	}
	m, err := r.readPlacement()
	if err != nil {
		r.result.Placement = "which shard an operation went to is not known: " + store.Redact(store.OneLine(err.Error()))
		return
	}
	r.books.place(m)
	r.result.Placement = fmt.Sprintf("the shard of an operation follows from the shard key of its document and the chunks in config.chunks; a router agreed on %d keys of %s",
		checkedKeys, r.books.wrapped.Collections()[0])
	for _, name := range m.Shards {
		r.result.Shards = append(r.result.Shards, record.DrillShard{Name: name})
	}
}

// readPlacement reads how the collections are spread.
func (r *round) readPlacement() (*shards.Map, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askAtMost)
	defer cancel()
	commander, closeIt, err := r.commander()
	if err != nil {
		return nil, err
	}
	defer closeIt()
	collections, database := r.books.wrapped.Collections(), r.drill.spec.Run.Database
	m, err := shards.Read(ctx, commander, database, collections)
	if err != nil {
		return nil, err
	}
	if p := m.Problem(); p != "" {
		return nil, fmt.Errorf("%s", p)
	}
	ids := make([]bson.ObjectID, checkedKeys)
	for i := range ids {
		ids[i] = bson.NewObjectID()
		ids[i][0] ^= byte(i * 37)
	}
	for _, name := range collections {
		if c := m.Collections[name]; c.Sharded && c.Field != "_id" {
			continue // a router is asked for _id only
		}
		if err := m.Check(ctx, commander, database, name, ids); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// spreadSeeds spreads the seed records of a sharded lab, and says where they go; nil where there are no shards, or
// nobody knows.
func (r *round) spreadSeeds(ctx context.Context) (*shards.Map, error) {
	if !r.sharded() {
		return nil, nil
	}
	spec := r.drill.spec.Run
	if r.lab != nil {
		if err := run.SpreadOver(ctx, r.uri, spec, []string{seedCollection}, true, r.drill.o.Progress.Step); err != nil {
			return nil, err
		}
	}
	commander, closeIt, err := r.commander()
	if err != nil {
		return nil, err
	}
	defer closeIt()
	m, err := shards.Read(ctx, commander, spec.Database, []string{seedCollection})
	if err != nil {
		return nil, nil // then they are where they are
	}
	return m, nil
}

// moved says so if chunks were moved while the round went on: a write counts for the shard that had its chunk when the
// load began.
func (r *round) moved() {
	if r.books.placed == nil {
		return
	}
	if now, err := r.readPlacement(); err == nil && !now.Same(r.books.placed) {
		r.drill.find("chunks-moved", measure.Warning, "chunks were moved between shards during round %d. Each operation counts for the shard that had its chunk when the load began. "+
			"Stop the balancer for a drill (sh.stopBalancer())", r.result.Number)
	}
}

// struckShards marks the shards that were struck: those of a lab that have a member with data on the target. Of a
// target that others break nobody knows which, so each of them counts.
func (r *round) struckShards() {
	for i := range r.result.Shards {
		s := &r.result.Shards[i]
		first := int64(-1)
		for _, f := range r.result.Faults {
			if f.Injected > 0 && (f.Fault == externalFault || slices.Contains(f.Shards, s.Name)) {
				s.Struck = true
				if first < 0 || f.Injected < first {
					first = f.Injected
				}
			}
		}
		if first < 0 {
			first = r.result.Faults[0].Injected
		}
		at := first - r.shift
		s.AcknowledgedBefore = count(ofKind(onShard(r.parts, i), true), at-int64(time.Second), at)
	}
}

// spreadHint says how a shard gets writes.
func (e evidence) spreadHint() string {
	if e.collection == "" {
		return "Offer more (--rate)"
	}
	return fmt.Sprintf("Offer more (--rate), or spread the collection before the drill: sh.shardCollection(%q, {_id: \"hashed\"})", e.collection)
}

// shardUnknowns are the reasons why a round shows nothing of a shard that was struck.
func shardUnknowns(e evidence) (open []string) {
	r := e.round
	if !e.sharded || len(r.Faults) == 0 || r.Faults[0].Injected <= 0 {
		return nil
	}
	strikes := slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool {
		return f.Fault == externalFault || len(f.Shards) > 0
	})
	if len(r.Shards) == 0 && strikes {
		return []string{strings.TrimSuffix(r.Placement, ".") + ". So nothing shows that the fault struck a shard with writes"}
	}
	for _, s := range r.Shards {
		if !s.Struck || s.AcknowledgedBefore >= fewestWrites {
			continue
		}
		why := "which was struck"
		if slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool { return f.Fault == externalFault }) {
			why = "which may be the one that was struck"
		}
		open = append(open, fmt.Sprintf("%s acknowledged only %s in the second before the fault, %s; at least %d are needed to see a loss there. "+
			"%s", s.Name, figure.Plural(int(s.AcknowledgedBefore), "write"), why, fewestWrites, e.spreadHint()))
	}
	return open
}

// unspread is the first collection of the load that is not on all shards, "" if all are, or nobody knows.
func (r *round) unspread() string {
	if r.books.placed == nil {
		return ""
	}
	for _, name := range r.books.wrapped.Collections() {
		if len(r.books.placed.On(name)) < len(r.books.placed.Shards) {
			return r.drill.spec.Run.Database + "." + name
		}
	}
	return ""
}
