package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Start starts all servers in the order of MongoDB's manual ("Deploy a Self-Managed Sharded Cluster"): config servers
// and shards, then routers. Servers of one step start concurrently. If a step fails, the servers of earlier steps keep
// running, because their logs are needed; [Cluster.Stop] ends them.
func (c *mongoCluster) Start(ctx context.Context) error {
	limit := startLimit
	if d := c.site.Spec.Deadline; d > 0 {
		limit = d.Std()
	}
	ctx, cancel := wait.Bounded(ctx, limit)
	defer cancel()
	servers := c.filter(func(n *engine.MongoNode) bool { return n.Role() != engine.MongoRouter })
	if err := c.storage(ctx, servers); err != nil {
		return err
	}
	c.event("progress", nil, "starting %d mongod %s", len(servers), c.programs.Version)
	if err := c.launch(ctx, servers); err != nil {
		return err
	}
	c.warnOpenFiles(servers)
	sets := c.sets()
	if len(sets) == 0 {
		return c.startStandalone(ctx, servers[0])
	}
	if err := c.formSets(ctx, sets); err != nil {
		return err
	}
	if len(c.routers()) == 0 {
		return nil
	}
	return c.startRouters(ctx)
}

// storage makes the directory of each mongod.
func (c *mongoCluster) storage(ctx context.Context, servers []*engine.MongoNode) error {
	for _, n := range servers {
		dir := filepath.Join(c.site.Dir, "members", n.Name(), "data")
		if c.plans[n.Name()].Volume && c.site.Volume != nil {
			var err error
			if dir, err = c.site.Volume(ctx, n.Name()); err != nil {
				return fmt.Errorf("cannot make the volume of %s: %w", n.Name(), err)
			}
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cannot make the data directory of %s: %w", n.Name(), err)
		}
		n.SetDataDir(dir)
	}
	return nil
}

// launch starts servers that do not run yet, and waits until each of them answers.
func (c *mongoCluster) launch(ctx context.Context, servers []*engine.MongoNode) error {
	return wait.Each(servers, func(n *engine.MongoNode) error {
		if !n.Status().Running {
			if err := n.Start(ctx); err != nil {
				return err
			}
		}
		return n.Wait(ctx)
	})
}

// warnOpenFiles records one warning if the limit of open files is too low. All servers have the limit of this machine.
func (c *mongoCluster) warnOpenFiles(servers []*engine.MongoNode) {
	for _, n := range servers {
		for _, p := range n.Status().Processes {
			if few := engine.FewFiles(p); few != "" {
				c.event("progress", map[string]string{"member": n.Name()}, "warning: %s", few)
				return
			}
		}
	}
}

func (c *mongoCluster) formSets(ctx context.Context, sets []string) error {
	return wait.Each(sets, func(set string) error {
		if err := c.formSet(ctx, set); err != nil {
			return fmt.Errorf("the replica set %s is not usable: %w", set, err)
		}
		return nil
	})
}

func (c *mongoCluster) startStandalone(ctx context.Context, n *engine.MongoNode) error {
	if c.password != "" {
		if err := c.ensureUser(ctx, n, nil); err != nil {
			return err
		}
	}
	if err := until(ctx, "the first write to "+n.Name(), func(ctx context.Context) (bool, error) {
		return ended(n), proveWrite(ctx, n, bson.D{{Key: "w", Value: 1}})
	}); err != nil {
		return err
	}
	c.noteRole(n.Name(), "standalone")
	return nil
}

// startRouters starts the routers and sets up sharding.
func (c *mongoCluster) startRouters(ctx context.Context) error {
	routers := c.routers()
	for _, n := range routers {
		n.SetConfigDB(c.seeds(mongoConfig))
	}
	c.event("progress", nil, "starting %d mongos", len(routers))
	if err := c.launch(ctx, routers); err != nil {
		return err
	}
	if err := c.setUpSharding(ctx, routers[0]); err != nil {
		return err
	}
	// Write once through each router, to detect one that does not know the shards. Not concurrently, because each drops
	// the test database.
	for _, n := range routers {
		if err := until(ctx, "a majority write through "+n.Name(), func(ctx context.Context) (bool, error) {
			return ended(n), proveWrite(ctx, n, majority())
		}); err != nil {
			return err
		}
	}
	return nil
}

// seeds returns SET/HOST:PORT,… of the members with data.
func (c *mongoCluster) seeds(set string) string {
	var at []string
	for _, n := range c.inSet(set) {
		if n.Role() != engine.MongoArbiter {
			at = append(at, n.Address())
		}
	}
	return set + "/" + strings.Join(at, ",")
}

// ended reports whether the process of a node has ended, so that retries are pointless.
func ended(n *engine.MongoNode) bool { return !n.Status().Running }

// ensureUser creates the lab's user, or sets the password of the one that kept data have. The first user of a server is
// created through the localhost exception (manual: "Localhost Exception in Self-Managed Deployments").
func (c *mongoCluster) ensureUser(ctx context.Context, n *engine.MongoNode, concern bson.D) error {
	return until(ctx, "the creation of the lab's user on "+n.Name(), func(ctx context.Context) (bool, error) {
		if n.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "connectionStatus", Value: 1}}, nil) == nil {
			return true, nil
		}
		fields := bson.D{
			{Key: "pwd", Value: c.password},
			{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}}}},
		}
		if concern != nil {
			fields = append(fields, bson.E{Key: "writeConcern", Value: concern})
		}
		create := append(bson.D{{Key: "createUser", Value: c.user}}, fields...)
		err := n.Command(ctx, engine.AsLocal, "admin", create, nil)
		if code(err) == codeUnauthorized { // kept data have users of earlier starts
			update := append(bson.D{{Key: "updateUser", Value: c.user}}, fields...)
			if err = n.Command(ctx, engine.AsMember, "admin", update, nil); err != nil {
				err = n.Command(ctx, engine.AsMember, "admin", create, nil)
			}
		}
		if err != nil {
			return ended(n), err
		}
		// The user exists now. A slow machine may leave too little of this try's time for its first connection.
		return ended(n), n.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "connectionStatus", Value: 1}}, nil)
	})
}

// proofDatabase is dropped after each test write.
const proofDatabase = "plimsoll_ready"

// proveWrite writes a document with a write concern, reads it, and drops its database.
func proveWrite(ctx context.Context, n *engine.MongoNode, concern bson.D) error {
	id := bson.NewObjectID()
	insert := bson.D{{Key: "insert", Value: "probe"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: id}}}},
		{Key: "writeConcern", Value: concern}}
	if err := n.Command(ctx, engine.AsUser, proofDatabase, insert, nil); err != nil {
		return err
	}
	var found cursorReply
	find := bson.D{{Key: "find", Value: "probe"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: id}}},
		{Key: "singleBatch", Value: true}}
	if err := n.Command(ctx, engine.AsUser, proofDatabase, find, &found); err != nil {
		return err
	}
	if len(found.Cursor.First) != 1 {
		return fmt.Errorf("%s does not return the document that was just written", n.Name())
	}
	drop := bson.D{{Key: "dropDatabase", Value: 1}, {Key: "writeConcern", Value: concern}}
	return n.Command(ctx, engine.AsUser, proofDatabase, drop, nil)
}

// majority is the write concern of a test write. Its timeout is shorter than that of each try, so that the error is the
// server's.
func majority() bson.D {
	return bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: int32(commandTimeout.Milliseconds())}}
}
