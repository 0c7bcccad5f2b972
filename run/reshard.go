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
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

const (
	// reshardAtMost is how long one change of a cluster is tried that is refused for a state which ends by itself.
	reshardAtMost = 2 * time.Minute
	// reshardAgain is how long is waited in between.
	reshardAgain = 300 * time.Millisecond
	// mostCommands is how many commands are printed for a person.
	mostCommands = 40
)

// dropAll drops the collections of the workload. One that is sharded is made again as it was, or left alone.
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
			_ = r.store.Close() // it says once more that it is full
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
			return fmt.Errorf("%s was dropped and could not be sharded again: %w; shard it with mongosh, then load again without --load drop:\n%s",
				s.namespace, err, s.commands(false))
		}
	}
	return nil
}

// mayDrop reads how a collection is sharded, and refuses to drop one that could not be sharded again.
func (r *runner) mayDrop(ctx context.Context, c server.Commander, namespace string) (*sharding, error) {
	s, err := readSharding(ctx, c, namespace)
	if err != nil && unsharded(ctx, c, namespace) {
		return nil, nil // a user who may not read the cluster's data may drop what is not sharded
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not dropped, because it is not known how it is sharded (a role such as clusterManager may read that): %w", namespace, err)
	}
	if s == nil {
		return nil, nil
	}
	missing, err := s.missingRights(ctx, c)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("the user lacks %s (the role clusterManager has them)", strings.Join(missing, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not dropped, because it could not be sharded again: %w. Drop and shard it with mongosh, then load again without --load drop:\n%s",
			namespace, err, s.commands(true))
	}
	return s, nil
}

// unsharded says whether a collection is certainly not sharded: its statistics, which its users may read, say so, or
// there is none (manual: "collStats").
func unsharded(ctx context.Context, c server.Commander, namespace string) bool {
	db, name, _ := strings.Cut(namespace, ".")
	reply, err := server.AskOf(ctx, c, db, bson.D{{Key: "collStats", Value: name}})
	var refused *store.ServerError
	if errors.As(err, &refused) {
		return refused.Code == 26 // NamespaceNotFound
	}
	sharded, ok := reply.Lookup("sharded").BooleanOK()
	return err == nil && ok && !sharded
}

// missingRights are the actions that the user of the connection may not do on the collection. Without access control
// everybody may do everything (manual: "connectionStatus", "Privilege Actions").
func (s *sharding) missingRights(ctx context.Context, c server.Commander) ([]string, error) {
	reply, err := server.Ask(ctx, c, bson.D{{Key: "connectionStatus", Value: 1}, {Key: "showPrivileges", Value: true}})
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

// command is a command and the database that it goes to.
type command struct {
	db  string
	doc bson.D
}

// creation are the commands that shard the empty collection as it was: with its options, its key and, where the server
// can do that, as many chunks at once.
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

// splitting and moving are the commands that make of the chunks that there are those that there were.
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
	at := 0 // of the chunk that was, which holds the one that is
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

// finishing are the commands that give zones and the balancer's setting back, once the chunks are in their places.
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

// restore shards a collection that does not exist any more as it was.
func (s *sharding) restore(ctx context.Context, c server.Commander) error {
	for _, cmd := range s.creation() {
		err := persist(ctx, c, cmd)
		if err != nil && cmd.doc[len(cmd.doc)-1].Key == "numInitialChunks" { // releases from 7.2 on have no such option
			cmd.doc = cmd.doc[:len(cmd.doc)-1]
			err = persist(ctx, c, cmd)
		}
		if err != nil {
			return err
		}
	}
	for _, step := range []func([]chunk) []command{s.splitting, s.moving} {
		now, err := readSharding(ctx, c, s.namespace)
		if err == nil && now == nil {
			err = errors.New("the cluster does not know it as sharded")
		}
		if err != nil {
			return err
		}
		if err := persistAll(ctx, c, step(now.chunks)); err != nil {
			return err
		}
	}
	return persistAll(ctx, c, s.finishing())
}

func persistAll(ctx context.Context, c server.Commander, list []command) error {
	for _, cmd := range list {
		if err := persist(ctx, c, cmd); err != nil {
			return err
		}
	}
	return nil
}

// persist sends a command, again and again while the cluster is in a state that ends by itself.
func persist(ctx context.Context, c server.Commander, cmd command) error {
	for end := time.Now().Add(reshardAtMost); ; {
		_, err := server.AskOf(ctx, c, cmd.db, cmd.doc)
		if err == nil {
			return nil
		}
		var refused *store.ServerError
		if !errors.As(err, &refused) || !server.Transient(refused.Code) || time.Now().After(end) {
			return fmt.Errorf("%s: %w", cmd.doc[0].Key, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(reshardAgain):
		}
	}
}

// commands are what a person enters in mongosh to shard the collection as it was, one on each line.
func (s *sharding) commands(drop bool) string {
	var list []command
	if drop {
		db, name := s.names()
		list = append(list, command{db, bson.D{{Key: "drop", Value: name}}})
	}
	list = append(list, s.creation()...)
	if !s.hashed() { // what a hashed key has is made at once, and lies where it lay
		var one []chunk
		if len(s.chunks) > 0 {
			one = []chunk{{Min: s.chunks[0].Min, Max: s.chunks[len(s.chunks)-1].Max}}
		}
		list = append(list, s.splitting(one)...)
		list = append(list, s.moving(s.apart())...)
	}
	list = append(list, s.finishing()...)
	var lines []string
	for i, cmd := range list {
		if i == mostCommands {
			lines = append(lines, fmt.Sprintf("  // and %d more: see sh.status() for chunks and zones", len(list)-i))
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

// inQuotes writes text between the single quotes of JavaScript.
var inQuotes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// apart are the chunks as if none lay where it belongs.
func (s *sharding) apart() []chunk {
	all := slices.Clone(s.chunks)
	for i := range all {
		all[i].Shard = ""
	}
	return all
}
