package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

const (
	reshardAtMost = 2 * time.Minute        // time limit for retrying a command after transient errors
	reshardAgain  = 300 * time.Millisecond // pause between two tries
	mostCommands  = 40                     // that an error lists
)

// dropAll drops the collections of the workload. It restores sharded collections as they were, and does not drop those
// that it could not restore.
func (r *runner) dropAll(ctx context.Context) error {
	c, done, err := r.asSharded(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, name := range r.workload.Collections() {
		var s *sharding
		if c != nil {
			if s, err = r.mayDrop(ctx, c, r.spec.Database+"."+name); err != nil {
				return err
			}
		}
		r.opts.Progress.Step("dropping " + name)
		err = r.store.Drop(ctx, name)
		if r.emptiesFull(err) {
			_ = r.store.Close() // fails because the disk is full
			st, err := r.reopenEmpty(ctx)
			if err == nil {
				r.store = st
			}
			return err
		}
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		r.opts.Progress.Step(fmt.Sprintf("sharding %s as before, %s", s.namespace, figure.Plural(len(s.chunks), "chunk")))
		if err := s.restore(ctx, c); err != nil {
			return fmt.Errorf("%s was dropped and could not be sharded again: %w. Shard it with mongosh, then load again without "+
				"--load drop:\n%s",
				s.namespace, err, s.commands(false))
		}
	}
	return nil
}

// mayDrop reads the sharding of a collection, and fails if the collection could not be restored after a drop.
func (r *runner) mayDrop(ctx context.Context, c server.Commander, namespace string) (*sharding, error) {
	s, err := readSharding(ctx, c, namespace)
	if err != nil && unsharded(ctx, c, namespace) {
		return nil, nil // a user who may not read the cluster's data may drop what is not sharded
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not dropped, because its sharding is unknown (a role such as clusterManager can read it): %w",
			namespace, err)
	}
	if s == nil {
		return nil, nil
	}
	missing, err := s.missingRights(ctx, c)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("the user may not do %s (the role clusterManager can)", strings.Join(missing, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not dropped, because it could not be sharded again: %w. Drop and shard it with mongosh, then "+
			"load again without --load drop:\n%s", namespace, err, s.commands(true))
	}
	return s, nil
}

// unsharded reports whether a collection is certainly not sharded: collStats, which its users may run, says so, or
// there is no such collection.
func unsharded(ctx context.Context, c server.Commander, namespace string) bool {
	db, name, _ := strings.Cut(namespace, ".")
	reply, err := server.QueryDB(ctx, c, db, bson.D{{Key: "collStats", Value: name}})
	var refused *store.ServerError
	if errors.As(err, &refused) {
		return refused.Code == 26 // NamespaceNotFound
	}
	sharded, ok := reply.Lookup("sharded").BooleanOK()
	return err == nil && ok && !sharded
}

// missingRights are the needed actions that the user has no privilege for (connectionStatus). Without access control
// nothing is missing.
func (s *sharding) missingRights(ctx context.Context, c server.Commander) ([]string, error) {
	reply, err := server.Query(ctx, c, bson.D{{Key: "connectionStatus", Value: 1}, {Key: "showPrivileges", Value: true}})
	if err != nil {
		return nil, err
	}
	var got struct {
		Info struct {
			Users      []bson.Raw `bson:"authenticatedUsers"`
			Privileges []struct {
				Resource struct {
					DB         *string `bson:"db"`
					Collection *string `bson:"collection"`
					Any        bool    `bson:"anyResource"`
				} `bson:"resource"`
				Actions []string `bson:"actions"`
			} `bson:"authenticatedUserPrivileges"`
		} `bson:"authInfo"`
	}
	if err := bson.Unmarshal(reply, &got); err != nil {
		return nil, err
	}
	if len(got.Info.Users) == 0 {
		return nil, nil
	}
	db, name := s.names()
	var missing []string
	for _, action := range []string{"enableSharding", "splitChunk", "moveChunk"} {
		held := false
		for _, p := range got.Info.Privileges {
			covers := p.Resource.Any || p.Resource.DB != nil && p.Resource.Collection != nil &&
				(*p.Resource.DB == "" || *p.Resource.DB == db) && (*p.Resource.Collection == "" || *p.Resource.Collection == name)
			held = held || covers && (slices.Contains(p.Actions, action) || slices.Contains(p.Actions, "anyAction"))
		}
		if !held {
			missing = append(missing, action)
		}
	}
	return missing, nil
}

type command struct {
	db  string
	doc bson.D
}

// creation are the commands that shard the empty collection: its options, its key and, for a hashed key, its chunks.
func (s *sharding) creation() []command {
	db, name := s.names()
	var list []command
	if len(s.options) > len(bson.Raw{5, 0, 0, 0, 0}) {
		create := bson.D{{Key: "create", Value: name}}
		elements, _ := s.options.Elements() // it was read as a document
		for _, e := range elements {
			create = append(create, bson.E{Key: e.Key(), Value: e.Value()})
		}
		list = append(list, command{db, create})
	}
	shard := bson.D{{Key: "shardCollection", Value: s.namespace}, {Key: "key", Value: s.key}, {Key: "unique", Value: s.unique}}
	if _, err := s.options.LookupErr("collation"); err == nil { // the index of the key compares bytes, whatever the collection does
		shard = append(shard, bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "simple"}}})
	}
	if s.hashed() {
		shard = append(shard, bson.E{Key: "numInitialChunks", Value: int32(len(s.chunks))})
	}
	return append(list, command{"admin", bson.D{{Key: "enableSharding", Value: db}}}, command{"admin", shard})
}

// splitting and moving are the commands that restore the chunks from those that the collection has.
func (s *sharding) splitting(have []chunk) []command {
	var list []command
	for _, c := range s.chunks[min(1, len(s.chunks)):] {
		if !slices.ContainsFunc(have, func(h chunk) bool { return bytes.Equal(h.Min, c.Min) }) {
			list = append(list, command{"admin", bson.D{{Key: "split", Value: s.namespace}, {Key: "middle", Value: c.Min}}})
		}
	}
	return list
}

func (s *sharding) moving(have []chunk) []command {
	var list []command
	at := 0 // the former chunk that contains h
	for _, h := range have {
		if at+1 < len(s.chunks) && bytes.Equal(s.chunks[at+1].Min, h.Min) {
			at++
		}
		if to := s.chunks[at].Shard; h.Shard != to {
			list = append(list, command{"admin", bson.D{{Key: "moveChunk", Value: s.namespace}, {Key: "bounds", Value: bson.A{h.Min, h.Max}},
				{Key: "to", Value: to}}})
		}
	}
	return list
}

// finishing are the commands that restore the zones and the balancer's setting, after the chunks.
func (s *sharding) finishing() []command {
	var list []command
	for _, z := range s.zones {
		list = append(list, command{"admin", bson.D{{Key: "updateZoneKeyRange", Value: s.namespace}, {Key: "min", Value: z.Min},
			{Key: "max", Value: z.Max}, {Key: "zone", Value: z.Tag}}})
	}
	if s.noBalance {
		list = append(list, command{"config", bson.D{{Key: "update", Value: "collections"}, {Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: bson.D{{Key: "_id", Value: s.namespace}}},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: true}}}}}}}}}})
	}
	return list
}

// restore creates and shards a dropped collection.
func (s *sharding) restore(ctx context.Context, c server.Commander) error {
	for _, cmd := range s.creation() {
		err := retry(ctx, c, cmd)
		if err != nil && cmd.doc[len(cmd.doc)-1].Key == "numInitialChunks" { // releases from 7.2 on have no such option
			cmd.doc = cmd.doc[:len(cmd.doc)-1]
			err = retry(ctx, c, cmd)
		}
		if err != nil {
			return err
		}
	}
	for _, step := range []func([]chunk) []command{s.splitting, s.moving} {
		now, err := readSharding(ctx, c, s.namespace)
		if err == nil && now == nil {
			err = errors.New("the cluster does not list it as sharded")
		}
		if err != nil {
			return err
		}
		if err := retryAll(ctx, c, step(now.chunks)); err != nil {
			return err
		}
	}
	return retryAll(ctx, c, s.finishing())
}

func retryAll(ctx context.Context, c server.Commander, list []command) error {
	for _, cmd := range list {
		if err := retry(ctx, c, cmd); err != nil {
			return err
		}
	}
	return nil
}

// retry sends a command and retries it after transient errors.
func retry(ctx context.Context, c server.Commander, cmd command) error {
	for end := time.Now().Add(reshardAtMost); ; {
		_, err := server.QueryDB(ctx, c, cmd.db, cmd.doc)
		if err == nil {
			return nil
		}
		var refused *store.ServerError
		if !errors.As(err, &refused) || !server.Transient(refused.Code) || time.Now().After(end) {
			return fmt.Errorf("%s: %w", cmd.doc[0].Key, err)
		}
		if err := wait.Sleep(ctx, reshardAgain); err != nil {
			return err
		}
	}
}

// commands are the lines to enter in mongosh to shard the collection.
func (s *sharding) commands(drop bool) string {
	var list []command
	if drop {
		db, name := s.names()
		list = append(list, command{db, bson.D{{Key: "drop", Value: name}}})
	}
	list = append(list, s.creation()...)
	if !s.hashed() { // creation makes the chunks of a hashed key
		var one []chunk
		if len(s.chunks) > 0 {
			one = []chunk{{Min: s.chunks[0].Min, Max: s.chunks[len(s.chunks)-1].Max}}
		}
		list = append(list, s.splitting(one)...)
		apart := slices.Clone(s.chunks)
		for i := range apart {
			apart[i].Shard = "" // so that all are moved
		}
		list = append(list, s.moving(apart)...)
	}
	list = append(list, s.finishing()...)
	var lines []string
	for i, cmd := range list {
		if i == mostCommands {
			lines = append(lines, fmt.Sprintf("  // and %d more; sh.status() shows chunks and zones", len(list)-i))
			break
		}
		text, err := bson.MarshalExtJSON(cmd.doc, true, false)
		if err != nil {
			continue // it came from BSON
		}
		lines = append(lines, fmt.Sprintf("  db.getSiblingDB(%q).runCommand(EJSON.parse('%s'))", cmd.db, inQuotes.Replace(string(text))))
	}
	return strings.Join(lines, "\n")
}

// inQuotes escapes text for the single quotes of JavaScript.
var inQuotes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
