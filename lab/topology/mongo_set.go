package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// MongoDB's error codes that matter while a set is initiated.
const (
	codeAlreadyInitialized = 23
	codeInvalidConfig      = 93
	codeIncompatibleConfig = 103 // "new configuration is not compatible"
	codeBadValue           = 2
	codeFailedToParse      = 9
	codeUnauthorized       = 13
)

// setConfig returns the initial configuration of a set without MongoDB's defaults (manual: "Self-Managed Replica Set
// Configuration").
func (c *mongoCluster) setConfig(set string) (bson.D, error) {
	var members bson.A
	votes := 0
	for i, n := range c.inSet(set) {
		m := bson.D{{Key: "_id", Value: int32(i)}, {Key: "host", Value: n.Address()}}
		plan := c.plans[n.Name()]
		switch {
		case plan.Role == "arbiter":
			m = append(m, bson.E{Key: "arbiterOnly", Value: true}, bson.E{Key: "priority", Value: 0.0})
		case votes >= c.dataVotes(set):
			m = append(m, bson.E{Key: "priority", Value: 0.0}, bson.E{Key: "votes", Value: int32(0)})
		case plan.Priority != 1:
			m = append(m, bson.E{Key: "priority", Value: plan.Priority})
		}
		votes++
		members = append(members, m)
	}
	config := bson.D{{Key: "_id", Value: set}}
	if set == mongoConfig {
		config = append(config, bson.E{Key: "configsvr", Value: true})
	}
	config = append(config, bson.E{Key: "members", Value: members})
	all, err := c.site.Spec.Topology.SetSettings()
	if err != nil {
		return nil, err
	}
	var settings bson.D
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := bson.E{Key: name, Value: all[name]}
		if name == "writeConcernMajorityJournalDefault" {
			if set != mongoConfig { // config servers need its default, true
				config = append(config, s)
			}
			continue
		}
		settings = append(settings, s)
	}
	if settings != nil {
		config = append(config, bson.E{Key: "settings", Value: settings})
	}
	return config, nil
}

// dataVotes is the number of voting members with data in a set.
func (c *mongoCluster) dataVotes(set string) int {
	if set == mongoConfig {
		return spec.MaxVotes
	}
	return c.site.Spec.Topology.DataVotes()
}

// formSet initiates a new set, and waits until it has a primary, all members are healthy and a majority has committed a
// write.
func (c *mongoCluster) formSet(ctx context.Context, set string) error {
	fresh, err := c.initiate(ctx, set)
	if err != nil {
		return err
	}
	if members := c.inSet(set); !fresh && len(members) == 1 {
		if err := c.adopt(ctx, members[0]); err != nil {
			return err
		}
	}
	primary, err := c.awaitPrimary(ctx, set)
	if err != nil {
		return err
	}
	if c.password != "" {
		if err := c.ensureUser(ctx, primary, majority()); err != nil {
			return err
		}
	}
	if err := c.awaitHealth(ctx, set); err != nil {
		return err
	}
	if err := c.proveMajority(ctx, set, fresh); err != nil {
		return err
	}
	c.event("progress", map[string]string{"set": set}, "the replica set %s is usable", set)
	return nil
}

// initiate sends the configuration to a member that may become primary, unless the set exists already, because its
// members were started on old data.
func (c *mongoCluster) initiate(ctx context.Context, set string) (fresh bool, err error) {
	members := c.inSet(set)
	for _, n := range members {
		if h, err := n.Hello(ctx); err == nil && h.SetName != "" {
			return false, nil
		}
	}
	config, err := c.setConfig(set)
	if err != nil {
		return false, err
	}
	first := members[slices.IndexFunc(members, func(n *engine.MongoNode) bool {
		p := c.plans[n.Name()]
		return p.Role != "arbiter" && p.Priority > 0
	})]
	fresh = true
	err = until(ctx, "the initiation of the set on "+first.Name(), func(ctx context.Context) (bool, error) {
		err := first.Command(ctx, engine.AsLocal, "admin", bson.D{{Key: "replSetInitiate", Value: config}}, nil)
		if code(err) == codeAlreadyInitialized || code(err) == codeUnauthorized && len(members) == 1 { // kept data
			fresh = false
			return true, nil
		}
		if err == nil {
			return true, nil
		}
		final := slices.Contains([]int32{codeInvalidConfig, codeIncompatibleConfig, codeBadValue, codeFailedToParse,
			codeUnauthorized}, code(err))
		return final || ended(first), err
	})
	return fresh, err
}

// adopt gives the set of kept data, which has one member, the present address of this member.
func (c *mongoCluster) adopt(ctx context.Context, n *engine.MongoNode) error {
	return until(ctx, "the change of the address in the set of the data", func(ctx context.Context) (bool, error) {
		have, err := server.QueryOwnConfig(ctx, n.Commander(engine.AsMember))
		if err != nil {
			return ended(n), err
		}
		if have.Name != n.Set() || len(have.Members) != 1 || !strings.HasPrefix(have.Members[0].Host, "127.0.0.1:") {
			return true, fmt.Errorf("the data in %s belong to the replica set %s of another deployment; use --standalone, "+
				"or another directory", n.DataDir(), have.Name)
		}
		if have.Members[0].Host == n.Address() {
			return true, nil
		}
		config, err := c.setConfig(n.Set())
		if err != nil {
			return true, err
		}
		config = append(config, bson.E{Key: "version", Value: have.Version + 1})
		return false, n.Command(ctx, engine.AsMember, "admin", bson.D{{Key: "replSetReconfig", Value: config},
			{Key: "force", Value: true}}, nil)
	})
}

// code is MongoDB's code of an error, 0 for others.
func code(err error) int32 {
	var refused mongo.CommandError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// awaitPrimary waits until one member is primary and every other member is secondary or arbiter. It needs no user.
func (c *mongoCluster) awaitPrimary(ctx context.Context, set string) (primary *engine.MongoNode, err error) {
	members := c.inSet(set)
	err = until(ctx, "the election of a primary", func(ctx context.Context) (bool, error) {
		hellos := helloAll(ctx, members)
		var words []string
		ready := 0
		for i, h := range hellos {
			words = append(words, members[i].Name()+" is "+h.words())
			if h.err == nil && (h.Writable && h.SetName == set || h.Secondary || h.Arbiter) {
				ready++
			}
			if ended(members[i]) {
				return true, fmt.Errorf("%s has ended%s", members[i].Name(), members[i].LogTail())
			}
		}
		primary = newestPrimary(members, hellos)
		if primary == nil || ready < len(members) {
			return false, notReady{strings.Join(words, ", "), hellos}
		}
		return true, nil
	})
	return primary, err
}

// notReady is the state of the members of a set without a primary.
type notReady struct {
	words   string
	answers []answer
}

func (e notReady) Error() string { return e.words }

func (e notReady) Unwrap() (errs []error) {
	for _, a := range e.answers {
		if a.err != nil {
			errs = append(errs, a.err)
		}
	}
	return errs
}

// answer is a member's answer to hello, or the error.
type answer struct {
	engine.Hello
	err error
}

func (a answer) words() string {
	if a.err != nil {
		return fmt.Sprintf("not answering (%v)", a.err)
	}
	return a.Hello.Words()
}

// helloAll sends hello to members concurrently, with a timeout of two seconds.
func helloAll(ctx context.Context, members []*engine.MongoNode) []answer {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answers := make([]answer, len(members))
	var wg sync.WaitGroup
	for i, n := range members {
		wg.Go(func() {
			runs := func() bool { return n.Status().Running && !n.Paused() }
			if runs() {
				answers[i].Hello, answers[i].err = n.Hello(ctx)
			}
			if !runs() { // also if it ended while it was asked
				answers[i] = answer{err: errors.New("it does not run")}
			}
		})
	}
	wg.Wait()
	return answers
}

// newestPrimary returns the primary. After a partition two members may claim to be primary; the later election wins.
func newestPrimary(members []*engine.MongoNode, answers []answer) *engine.MongoNode {
	best := -1
	for i, a := range answers {
		if a.err != nil || !a.Writable || a.SetName == "" {
			continue
		}
		if best < 0 || a.ElectionID.Hex() > answers[best].ElectionID.Hex() {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return members[best]
}

// status queries the status of a set from one of its members.
func status(ctx context.Context, n *engine.MongoNode) (server.Set, error) {
	return server.QuerySet(ctx, n.Commander(engine.AsUser))
}

// awaitHealth waits until the primary reports all members as healthy, and a commit point. Before that a majority write
// may wait, and routers report that the set is not initialized.
func (c *mongoCluster) awaitHealth(ctx context.Context, set string) error {
	members := c.inSet(set)
	return until(ctx, "the health check of all members", func(ctx context.Context) (bool, error) {
		primary := newestPrimary(members, helloAll(ctx, members))
		if primary == nil {
			return false, errors.New("there is no primary at the moment")
		}
		s, err := status(ctx, primary)
		if err != nil {
			return ended(primary), err
		}
		var bad []string
		for _, m := range s.Members {
			if !m.Healthy || roleOf(m.State) == "unknown" {
				bad = append(bad, strings.TrimSpace(c.nameOf(m.Name)+" is "+m.State+" "+m.Heartbeat))
			}
		}
		switch {
		case len(s.Members) != len(members):
			return false, fmt.Errorf("%s has only %d of %d members in its status", primary.Name(), len(s.Members), len(members))
		case len(bad) > 0:
			return false, errors.New(strings.Join(bad, ", "))
		case s.Committed.TS.T == 0:
			return false, errors.New("a majority has not committed any write yet (lastCommittedOpTime is empty)")
		}
		c.noteSet(s)
		return true, nil
	})
}

// nameOf returns the name of the member with an address, or the address.
func (c *mongoCluster) nameOf(address string) string {
	for _, n := range c.nodes {
		if n.Address() == address {
			return n.Name()
		}
	}
	return address
}

// noteSet records the roles of a status without events.
func (c *mongoCluster) noteSet(s server.Set) {
	for _, m := range s.Members {
		c.reportRole(c.nameOf(m.Name), roleOf(m.State))
	}
}

func roleOf(state string) string {
	switch state {
	case server.Primary:
		return "primary"
	case server.Secondary:
		return "secondary"
	case server.Arbiter:
		return "arbiter"
	}
	return "unknown"
}

// proveMajority commits a majority write. Config servers have no user databases; the manual ("Config Database") has a
// test collection for writes to them. With authentication, the creation of the lab's user was such a write already. A
// shard of an existing cluster is written later, through a router.
func (c *mongoCluster) proveMajority(ctx context.Context, set string, fresh bool) error {
	if set == mongoConfig && c.password != "" || len(c.routers()) > 0 && !fresh {
		return nil
	}
	members := c.inSet(set)
	return until(ctx, "a majority write", func(ctx context.Context) (bool, error) {
		primary := newestPrimary(members, helloAll(ctx, members))
		if primary == nil {
			return false, errors.New("there is no primary at the moment")
		}
		if set == mongoConfig {
			return ended(primary), proveConfig(ctx, primary)
		}
		return ended(primary), proveWrite(ctx, primary, majority())
	})
}

func proveConfig(ctx context.Context, n *engine.MongoNode) error {
	const test = "testConfigServerWriteAvail"
	insert := bson.D{{Key: "insert", Value: test}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: int32(1)}}}},
		{Key: "writeConcern", Value: majority()}}
	if err := n.Command(ctx, engine.AsUser, "config", insert, nil); err != nil {
		return err
	}
	return n.Command(ctx, engine.AsUser, "config", bson.D{{Key: "drop", Value: test}, {Key: "writeConcern", Value: majority()}}, nil)
}
