package topology

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/server"
)

// Membership is what a cluster has whose sets can be configured with fewer members.
type Membership interface {
	// Remove configures the set of a member without it, and returns when the member has left.
	Remove(ctx context.Context, member string) error
	// Add configures the set with a member that was removed, and returns when it is a secondary again.
	Add(ctx context.Context, member string) error
}

var _ Membership = (*mongoCluster)(nil)

func (c *mongoCluster) Remove(ctx context.Context, member string) error {
	ctx, cancel := wait.Bounded(ctx, changeLimit)
	defer cancel()
	n := c.node(member)
	err := c.reconfigure(ctx, n, func(members bson.A, at int) bson.A {
		if at < 0 {
			return members
		}
		return slices.Delete(members, at, at+1)
	})
	if err != nil {
		return err
	}
	return until(ctx, "the removal of "+member, func(ctx context.Context) (bool, error) {
		h, err := n.Hello(ctx)
		return err == nil && !h.Writable && !h.Secondary, err
	})
}

func (c *mongoCluster) Add(ctx context.Context, member string) error {
	n := c.node(member)
	limit, cancel := wait.Bounded(ctx, changeLimit)
	defer cancel()
	initial, err := c.setConfig(n.Set())
	if err != nil {
		return err
	}
	err = c.reconfigure(limit, n, func(members bson.A, at int) bson.A {
		if at >= 0 {
			return members
		}
		all := initial[slices.IndexFunc(initial, func(e bson.E) bool { return e.Key == "members" })].Value.(bson.A)
		return append(members, all[slices.Index(c.inSet(n.Set()), n)])
	})
	if err != nil {
		return err
	}
	return c.whileProgressing(ctx, n, func(ctx context.Context) error { return c.rejoin(ctx, n) })
}

// reconfigure changes the members of a node's set, and its version. change gets the position of the node, -1 if it is
// no member; it returns nil if there is nothing to change.
func (c *mongoCluster) reconfigure(ctx context.Context, n *engine.MongoNode,
	change func(members bson.A, at int) bson.A) error {
	primary, err := c.primary(ctx, n.Set())
	if err != nil {
		return err
	}
	got, err := server.QueryOwnConfig(ctx, primary.Commander(engine.AsUser))
	if err != nil {
		return err
	}
	var config bson.D
	if err := bson.Unmarshal(got.Raw, &config); err != nil {
		return fmt.Errorf("cannot read the configuration of %s: %w", n.Set(), err)
	}
	for i, e := range config {
		switch members, _ := e.Value.(bson.A); e.Key {
		case "members":
			id := slices.Index(c.inSet(n.Set()), n)
			at := slices.IndexFunc(members, func(m any) bool { d, _ := m.(bson.D); return number(d, "_id") == int64(id) })
			if members = change(members, at); members == nil {
				return nil
			}
			config[i].Value = members
		case "version":
			config[i].Value = int32(number(config, "version") + 1)
		}
	}
	return primary.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "replSetReconfig", Value: config}}, nil)
}

// readdress reconfigures a set if the address of a member has changed.
func (c *mongoCluster) readdress(ctx context.Context, n *engine.MongoNode) error {
	return c.reconfigure(ctx, n, func(members bson.A, at int) bson.A {
		if at < 0 {
			return nil
		}
		own, _ := members[at].(bson.D)
		for i, e := range own {
			if e.Key == "host" && e.Value != n.Address() {
				own[i].Value = n.Address()
				return members
			}
		}
		return nil
	})
}
