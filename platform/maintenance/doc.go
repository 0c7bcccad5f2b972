// Package maintenance makes planned events drills: rolling restart, step-down, index build, initial sync, a member that
// is added or removed, chunk migration, compaction, and a backup.
//
// [On] puts the events on top of a [platform.Platform]. Commands of MongoDB alone do some of them
// ([fault.Action.Plain]). A rolling restart uses an action of the platform for one member after the other ([Restart]).
// All others are the platform's.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Deployment is what the events happen to.
type Deployment struct {
	platform.Platform
	// URI is the address of the deployment, with the credentials for its members.
	URI string
	// Identity is that of the primary or a router; empty if it is not known.
	Identity server.Identity
	Database string
	// Collections are those of the workload.
	Collections []string
}

// On returns a platform that has the planned events besides its own actions.
func On(d Deployment) platform.Platform { return &d }

func (d *Deployment) Actions() (list []*fault.Action) {
	own := d.Platform.Actions()
	for _, a := range fault.All() {
		if a.Plain || a.Name == fault.RollingRestart && Restart(own) != nil || slices.Contains(own, a) {
			list = append(list, a)
		}
	}
	return list
}

// Restart is the action that restarts a member in a rolling restart: the first of stop, the deletion of a pod, and the
// reset of a virtual machine. It is nil if a platform has none of them.
func Restart(own []*fault.Action) *fault.Action {
	for _, name := range []string{fault.Stop, fault.PodDelete, fault.VMReset} {
		if a := fault.Find(name); slices.Contains(own, a) {
			return a
		}
	}
	return nil
}

// Fault refuses an event that the deployment does not have.
func (d *Deployment) Fault(f spec.Fault, limit time.Duration) (platform.Injector, error) {
	a := fault.Find(f.Action.Name)
	if f.Exec != nil || a == nil {
		return d.Platform.Fault(f, limit)
	}
	if err := d.suits(a); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Action, err)
	}
	e := &event{deployment: d, action: a, fault: f, limit: limit}
	switch {
	case a.Name == fault.RollingRestart:
		if Restart(d.Platform.Actions()) == nil {
			return nil, fmt.Errorf("%s: it stops and starts the members, and the platform has no %s. Add the commands of %[2]s to the "+
				"platform file", f.Action, fault.Stop)
		}
		e.prepare = e.rollingRestart
	case slices.Contains(d.Platform.Actions(), a) || !a.Plain:
		inner, err := d.Platform.Fault(f, limit)
		if err != nil || !a.Event && a.Name != fault.AddMember {
			return inner, err
		}
		return &around{event: e, inner: inner}, nil
	case a.Name == fault.StepDown:
		e.prepare = e.stepDown
	case a.Name == fault.IndexBuild:
		e.prepare = e.indexBuild
	case a.Name == fault.ChunkMigration:
		e.prepare = e.chunkMigration
	case a.Name == fault.Compaction:
		e.prepare = e.compaction
	}
	return e, nil
}

// suits refuses an action that the engine or the topology of the deployment does not have.
func (d *Deployment) suits(a *fault.Action) error {
	topology := d.Identity.Topology()
	switch kind := d.Identity.Kind; {
	case kind == "":
		return nil // the server says it
	case kind == server.FerretDB && a.Lacking != "":
		return fmt.Errorf("the engine documentdb does not have it, because %s", a.Lacking)
	case kind != server.FerretDB && a.Needs == fault.NeedsSet && topology == "standalone":
		return errors.New("it needs a replica set, and the target is a single server")
	case a.Needs == fault.NeedsShards && topology != "sharded":
		return fmt.Errorf("it needs a sharded cluster, and the target is a %s", topology)
	}
	return nil
}

// connect calls use with a connection to the primary or a router. A wait that ctx is of can say which command has no
// answer.
func (d *Deployment) connect(ctx context.Context, uri string, use func(c server.Commander) error) error {
	client, err := platform.Connect(uri, options.Client().SetServerSelectionTimeout(selectWithin).SetMaxPoolSize(2))
	if err != nil {
		return err
	}
	defer client.Close()
	wait.Ask(ctx, client.Doing)
	return use(server.Driver(client.Client))
}

// selectWithin is how long a server may take to be found; longer than an election.
const selectWithin = 20 * time.Second

// onMember calls use with a connection to one member.
func (d *Deployment) onMember(ctx context.Context, m record.LabMember, use func(c server.Commander) error) error {
	uri, err := run.MemberURI(d.URI, m.Address)
	if err != nil {
		return err
	}
	return d.connect(ctx, uri, use)
}

// sets returns the names of the sets of members with data. Members without a set are a set of their own.
func sets(members []record.LabMember) (names []string) {
	for _, m := range members {
		if holdsData(m) && !slices.Contains(names, m.Set) {
			names = append(names, m.Set)
		}
	}
	return names
}

func holdsData(m record.LabMember) bool {
	return m.Kind == "postgres" || m.Kind == "mongod" && m.Role != "arbiter" && m.Role != "config"
}

func inSet(members []record.LabMember, set string) (list []record.LabMember) {
	for _, m := range members {
		if holdsData(m) && m.Set == set {
			list = append(list, m)
		}
	}
	return list
}

// find finds the member that a name or a role means.
func find(members []record.LabMember, target string) (record.LabMember, error) {
	set, role := "", target
	if i := strings.LastIndexByte(target, '/'); i >= 0 {
		set, role = target[:i], target[i+1:]
	}
	for _, m := range members {
		if m.Name == target || m.Role == role && (set == "" || m.Set == set) && holdsData(m) {
			return m, nil
		}
	}
	var names []string
	for _, m := range members {
		if holdsData(m) {
			names = append(names, m.Name)
		}
	}
	return record.LabMember{}, fmt.Errorf("no member with data has the name or role %q now (members: %s)", target,
		strings.Join(names, ", "))
}

// named finds a member by its name.
func named(members []record.LabMember, name string) (m record.LabMember, ok bool) {
	i := slices.IndexFunc(members, func(m record.LabMember) bool { return m.Name == name })
	if i < 0 {
		return m, false
	}
	return members[i], true
}

// serves says whether a member takes part in its set.
func serves(m record.LabMember) bool {
	return m.State == "running" && slices.Contains([]string{"primary", "secondary", "standalone"}, m.Role)
}

// pollEvery is the pause between two queries for the members.
const pollEvery = 100 * time.Millisecond

// settled polls the members until is has no error, for [platform.AnswerWithin] at most, and returns them.
func (d *Deployment) settled(ctx context.Context, is func([]record.LabMember) error) ([]record.LabMember, error) {
	ctx, cancel := context.WithTimeout(ctx, platform.AnswerWithin)
	defer cancel()
	for {
		members, err := d.Members(ctx)
		if err == nil {
			err = is(members)
		}
		if err == nil || wait.Sleep(ctx, pollEvery) != nil {
			return members, err
		}
	}
}

// answered is what [Deployment.settled] needs where any answer will do.
func answered([]record.LabMember) error { return nil }

// await polls the members until something is true of them.
func (d *Deployment) await(ctx context.Context, what string, is func([]record.LabMember) bool) error {
	wait.Report(ctx, "waiting for "+what)
	for {
		members, err := d.Members(ctx)
		if err == nil && is(members) {
			wait.Report(ctx, "")
			return nil
		}
		if cause := wait.Sleep(ctx, pollEvery); cause != nil {
			return errors.Join(fmt.Errorf("timed out while waiting for %s", what), err, cause)
		}
	}
}
