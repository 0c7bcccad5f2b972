package drill

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/maintenance"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// target is the deployment that a round loads, and what was known about it before the load.
type target struct {
	uri    string
	lab    Lab        // nil if the target is not a lab
	before record.Lab // the lab before the load; only the members of another platform
	lacked string     // what it lacked before the first fault
	// minority says which fault of the drill leaves a set without a majority in the state before it; "" if none does.
	minority string
	voting   int // members that vote; 0 if that is not known
	// platform is the lab, or what [Options] has for another target; nil if nothing can be broken there.
	platform platform.Platform
	seq      int64     // of the lab's last event before the load
	used     resources // before the load
	level    string    // durability level of the lab's gateway; "" where clients choose the write concern

	identity server.Identity
	concerns server.Concerns // that the server applies if a client requests none
}

// unused reports whether an event is about a gateway that the load does not use.
func (t *target) unused(e record.LabEvent) bool {
	return slices.ContainsFunc(t.before.Members, func(m record.LabMember) bool {
		return m.Name == e.Data["member"] && m.Role == "gateway" && !strings.Contains(t.uri, m.Address+"/")
	})
}

// queryAtMost bounds the queries to the server before a round.
const queryAtMost = 10 * time.Second

// openLab opens the lab and describes it in the round's record.
func (t *target) openLab(ctx context.Context, c *runner, name string, out *record.DrillRound) (err error) {
	if c.o.Open == nil {
		return errors.New("this program cannot open labs")
	}
	if t.lab, err = c.o.Open(ctx, name); err != nil {
		return err
	}
	if t.before, err = t.lab.Describe(ctx, true); err != nil {
		return err
	}
	t.platform = platform.OfLab(t.lab)
	a, err := t.lab.Address(ctx, c.spec.Run.Durability)
	if err != nil {
		return err
	}
	t.uri, t.level = a.URI, a.Level
	out.Level, out.Means, out.Failover = a.Level, a.Means, t.before.Failover
	out.Topology = &t.before.Specification.Topology
	t.countMembers(out)
	if events, err := t.lab.EventsSince(ctx, 0); err == nil && len(events) > 0 {
		t.seq = events[len(events)-1].Seq
	}
	t.used, _ = t.resources(ctx)
	return nil
}

// openPlatform queries the members of a target that is not a lab.
func (t *target) openPlatform(ctx context.Context, p platform.Platform, out *record.DrillRound) (err error) {
	ctx, cancel := context.WithTimeout(ctx, queryAtMost)
	defer cancel()
	t.platform = p
	if t.before.Members, err = p.Members(ctx); err != nil {
		return err
	}
	if of, ok := p.(platform.Describer); ok {
		if err := of.Describe(ctx, out); err != nil {
			return err
		}
	}
	if out.Kubernetes != nil { // a platform file need not have all members
		t.countMembers(out)
	}
	return nil
}

// collectionsOf are the collections of the load.
func collectionsOf(asked spec.Run) ([]string, error) {
	switch asked.Workload.Name {
	case spec.WorkloadLedger:
		return []string{ledger.DefaultCollection}, nil
	case spec.WorkloadTransactions:
		return []string{transactions.Collection}, nil
	}
	return run.Collections(asked)
}

// countMembers counts the members that hold data.
func (t *target) countMembers(out *record.DrillRound) {
	for _, m := range t.before.Members {
		if holdsData(m) {
			out.Members++
		}
	}
}

// plan puts the planned events on top of the platform, and refuses a fault that the target does not have.
func (t *target) plan(asked spec.Drill) error {
	if t.platform == nil {
		return nil
	}
	collections, err := collectionsOf(asked.Run)
	if err != nil {
		return err
	}
	t.platform = maintenance.On(maintenance.Deployment{Platform: t.platform, URI: t.uri, Identity: t.identity,
		Database: asked.Run.Database, Collections: collections})
	for _, f := range asked.Faults {
		if _, err := t.platform.Fault(f, 0); err != nil {
			return err
		}
	}
	return nil
}

// resources are what all hosts of a lab have used since they were created.
type resources struct {
	cpu     float64 // seconds
	written int64   // bytes
}

// resources returns zero if the lab does not know.
func (t *target) resources(ctx context.Context) (sum resources, err error) {
	list, err := t.lab.Usage(ctx)
	for _, u := range list {
		sum.cpu += u.CPUSeconds
		sum.written += u.WriteBytes
	}
	return sum, err
}

// query reads the deployment's identity, and its default write concern.
func (t *target) query(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryAtMost)
	defer cancel()
	commander, closeIt, err := t.commander()
	if err != nil {
		t.concerns.Problem = oneLine(err)
		return
	}
	defer closeIt()
	if t.identity, err = server.Identify(ctx, commander); err != nil {
		t.concerns.Problem = oneLine(err)
		return
	}
	t.concerns = server.QueryConcerns(ctx, commander, t.identity)
	t.concerns.Problem = store.Redact(store.OneLine(t.concerns.Problem))
}

// oneLine is the text of an error in one line, without credentials.
func oneLine(err error) string { return store.Redact(store.OneLine(err.Error())) }

// commander runs commands on the primary, or on a router, through the official driver.
func (t *target) commander() (c server.Commander, closeIt func(), err error) {
	client, err := platform.Connect(t.uri, options.Client().SetServerSelectionTimeout(queryAtMost))
	if err != nil {
		return nil, nil, err
	}
	return server.Driver(client.Client), client.Close, nil
}

func (t *target) sharded() bool {
	if t.lab != nil {
		return t.before.Specification.Topology.Kind == spec.LabSharded
	}
	return t.uri != "" && t.identity.Topology() == "sharded"
}

// replicaSet reports whether the target is a replica set of MongoDB, or a cluster of them. If not, why says that
// MongoDB promises nothing about reads.
func (t *target) replicaSet(sees seen, members int) (yes bool, why string) {
	switch {
	case t.level != "" || t.identity.Kind == server.FerretDB:
		return false, "the target is not MongoDB, so MongoDB's guarantees for reads do not apply. Violations are only counted"
	case t.lab != nil && members < 2, t.lab == nil && sees == seesServer:
		return false, "the target is a single server, but MongoDB's guarantees for reads are for replica sets. " +
			"Violations are only counted"
	}
	return true, ""
}

// givesTimes reports whether each reply has the time of its operation in the one oplog of the target, and snapshot
// reads outside of transactions work. A router's times are later than those of the shards.
func (t *target) givesTimes() bool {
	return t.level == "" && t.identity.Kind == server.Mongod && t.identity.Topology() == "replica set" &&
		t.identity.Version.AtLeast(5, 0)
}

// checkedKeys is the number of keys for which a router is queried, to check the placement.
const checkedKeys = 8

// placement reads on which shard each document of some collections is, from the chunks in the cluster's metadata, and
// checks that with a router for some keys.
func (t *target) placement(ctx context.Context, database string, collections []string) (*shards.Map, error) {
	ctx, cancel := context.WithTimeout(ctx, queryAtMost)
	defer cancel()
	commander, closeIt, err := t.commander()
	if err != nil {
		return nil, err
	}
	defer closeIt()
	m, err := shards.Read(ctx, commander, database, collections)
	if err != nil {
		return nil, err
	}
	if p := m.Problem(); p != "" {
		return nil, errors.New(p)
	}
	ids := make([]bson.ObjectID, checkedKeys)
	for i := range ids {
		ids[i] = bson.NewObjectID()
		ids[i][0] ^= byte(i * 37)
	}
	for _, name := range collections {
		if c := m.Collections[name]; c.Sharded && c.Field != "_id" {
			continue // the check works with _id only
		}
		if err := m.Check(ctx, commander, database, name, ids); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// spreadSeeds shards the collection of the seed documents in a sharded lab, and returns its placement; nil without
// shards, or if the placement is not known.
func (t *target) spreadSeeds(ctx context.Context, asked spec.Run, step func(string)) (*shards.Map, error) {
	if !t.sharded() {
		return nil, nil
	}
	if t.lab != nil {
		if err := run.SpreadOver(ctx, t.uri, asked, []string{seedCollection}, true, step); err != nil {
			return nil, err
		}
	}
	commander, closeIt, err := t.commander()
	if err != nil {
		return nil, err
	}
	defer closeIt()
	ctx, cancel := context.WithTimeout(ctx, queryAtMost)
	defer cancel()
	m, err := shards.Read(ctx, commander, asked.Database, []string{seedCollection})
	if err != nil {
		return nil, nil // the seeds are then on any shard
	}
	return m, nil
}

func (t *target) close() {
	if t.lab != nil {
		_ = t.lab.Close() // it forgets how to reach the lab, nothing else
	}
}

func holdsData(m record.LabMember) bool {
	return m.Kind == "postgres" || m.Kind == "mongod" && m.Role != "arbiter" && m.Role != "config"
}

// setsOf returns the replica sets of a lab that hold data. Members without a set are a set of their own.
func setsOf(l record.Lab) (sets []string) {
	for _, m := range l.Members {
		if holdsData(m) && !slices.Contains(sets, m.Set) {
			sets = append(sets, m.Set)
		}
	}
	return sets
}

// membersOf counts the members of a set that hold data.
func membersOf(l record.Lab, set string) (n int) {
	for _, m := range l.Members {
		if m.Set == set && holdsData(m) {
			n++
		}
	}
	return n
}

// degraded returns the volumes that lack a copy although no fault affects them. A disk that was away misses the writes
// of that time, and must be rebuilt before another disk may fail.
func degraded(l record.Lab) []string {
	var list []string
	for _, v := range l.Volumes {
		faulty := slices.ContainsFunc(l.Faults, func(f record.LabFault) bool {
			return f.Target == v.Name || slices.ContainsFunc(v.Disks, func(d record.LabDisk) bool {
				return f.Target == d.Host || f.Target == v.Name+"/"+d.Name
			})
		})
		if v.Health == "degraded" && !faulty {
			list = append(list, v.Name)
		}
	}
	return list
}

// damagedTargets returns the targets on whose disks a fault stored wrong bytes. Healing ends the fault, but the bytes
// stay wrong.
func damagedTargets(faults []record.DrillFault, specs []spec.Fault) []string {
	var targets []string
	for _, f := range faults {
		a := fault.Find(f.Fault.Name)
		damages := a != nil && a.Damages != nil && slices.ContainsFunc(specs, func(s spec.Fault) bool {
			return s.Action == f.Fault && a.Damages(s)
		})
		if damages && f.Injected > 0 && !slices.Contains(targets, f.Target) {
			targets = append(targets, f.Target)
		}
	}
	return targets
}
