package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Start starts all servers in the order of MongoDB's manual ("Deploy a Self-Managed Sharded Cluster"): config servers
// and shards, whose sets are initiated, then routers, to which the shards are added. Servers of one step start side by
// side. What was started stays when a later step fails: the logs are needed, and [Cluster.Stop] ends it.
func (c *mongoCluster) Start(ctx context.Context) error {
	limit := startLimit
	if d := c.site.Spec.Deadline; d > 0 {
		limit = d.Std()
	}
	ctx, cancel := bounded(ctx, limit)
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

// storage finds the directory of each mongod.
func (c *mongoCluster) storage(ctx context.Context, servers []*engine.MongoNode) error {
	for _, n := range servers {
		dir := filepath.Join(c.site.Dir, "members", n.Name(), "data")
		if c.plans[n.Name()].Volume && c.site.Volume != nil {
			var err error
			if dir, err = c.site.Volume(ctx, n.Name()); err != nil {
				return fmt.Errorf("%s has no storage: %w", n.Name(), err)
			}
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("%s has no storage: %w", n.Name(), err)
		}
		n.SetDataDir(dir)
	}
	return nil
}

// launch starts servers that do not run yet, and waits until each of them answers.
func (c *mongoCluster) launch(ctx context.Context, servers []*engine.MongoNode) error {
	return inParallel(servers, func(n *engine.MongoNode) error {
		if !n.Status().Running {
			if err := n.Start(ctx); err != nil {
				return err
			}
		}
		return n.Wait(ctx)
	})
}

// tellFewFiles warns once of a limit of open files that is too low. It is that of this machine, so all servers have it.
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

// formSets makes sets out of members, all at once.
func (c *mongoCluster) formSets(ctx context.Context, sets []string) error {
	errs := make(chan error, len(sets))
	var wg sync.WaitGroup
	for _, set := range sets {
		wg.Go(func() {
			err := c.formSet(ctx, set)
			if err != nil {
				err = fmt.Errorf("the replica set %s is not usable: %w", set, err)
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	return joinAll(errs)
}

func (c *mongoCluster) startStandalone(ctx context.Context, n *engine.MongoNode) error {
	if c.password != "" {
		if err := c.ensureUser(ctx, n, nil); err != nil {
			return err
		}
	}
	if err := until(ctx, "a first write to "+n.Name(), func(ctx context.Context) (bool, error) {
		return ended(n), proveWrite(ctx, n, bson.D{{Key: "w", Value: 1}})
	}); err != nil {
		return err
	}
	c.noteRole(n.Name(), "standalone")
	return nil
}

// startRouters starts the routers once the sets are there, and makes one cluster of all.
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
	// Each router is used once: one that had not heard of the shards would show it now. They take turns, because they
	// would drop each other's proof.
	for _, n := range routers {
		if err := until(ctx, "a majority write through "+n.Name(), func(ctx context.Context) (bool, error) {
			return ended(n), proveWrite(ctx, n, majority())
		}); err != nil {
			return err
		}
	}
	return nil
}

// seeds is SET/HOST:PORT,… of the members that a client may be told of: those with data.
func (c *mongoCluster) seeds(set string) string {
	var at []string
	for _, n := range c.inSet(set) {
		if n.Role() != engine.MongoArbiter {
			at = append(at, n.Address())
		}
	}
	return set + "/" + strings.Join(at, ",")
}

// ended says whether the process of a node is gone, so that asking again is pointless.
func ended(n *engine.MongoNode) bool { return !n.Status().Running }

// user makes sure that the lab's user exists: the first user of a server is created by the localhost exception
// (manual: "Localhost Exception in Self-Managed Deployments"). It does nothing if the user is there already.
func (c *mongoCluster) ensureUser(ctx context.Context, n *engine.MongoNode, concern bson.D) error {
	return until(ctx, "the lab's user on "+n.Name(), func(ctx context.Context) (bool, error) {
		if n.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "connectionStatus", Value: 1}}, nil) == nil {
			return true, nil
		}
		command := bson.D{
			{Key: "createUser", Value: mongoUser}, {Key: "pwd", Value: c.password},
			{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}}}},
		}
		if concern != nil {
			command = append(command, bson.E{Key: "writeConcern", Value: concern})
		}
		if err := n.Command(ctx, engine.AsLocal, "admin", command, nil); err != nil {
			return ended(n), err
		}
		return true, n.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "connectionStatus", Value: 1}}, nil)
	})
}

// proofDatabase is where a write is tried; it is dropped afterwards.
const proofDatabase = "plimsoll_ready"

// prove writes a document with a write concern, reads it and removes what it made.
func proveWrite(ctx context.Context, n *engine.MongoNode, concern bson.D) error {
	id := bson.NewObjectID()
	insert := bson.D{{Key: "insert", Value: "probe"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: id}}}},
		{Key: "writeConcern", Value: concern}}
	if err := n.Command(ctx, engine.AsUser, proofDatabase, insert, nil); err != nil {
		return err
	}
	var found struct {
		Cursor struct {
			First []bson.Raw `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	find := bson.D{{Key: "find", Value: "probe"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "singleBatch", Value: true}}
	if err := n.Command(ctx, engine.AsUser, proofDatabase, find, &found); err != nil {
		return err
	}
	if len(found.Cursor.First) != 1 {
		return fmt.Errorf("%s does not find what was just written to it", n.Name())
	}
	return n.Command(ctx, engine.AsUser, proofDatabase, bson.D{{Key: "dropDatabase", Value: 1}, {Key: "writeConcern", Value: concern}}, nil)
}

// majority is the write concern of a proof. Its limit is below that of each try, so that the server says itself what it
// waits for.
func majority() bson.D {
	return bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: int32(commandTimeout.Milliseconds())}}
}
