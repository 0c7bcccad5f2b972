package server

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Shard is one shard of a cluster.
type Shard struct {
	Name  string
	Set   string // its replica set; its own name if it is a standalone, as in old clusters
	Hosts []string
}

// QueryShards queries the shards from a router (listShards).
func QueryShards(ctx context.Context, c Commander) ([]Shard, error) {
	reply, err := query(ctx, c, "listShards")
	if err != nil {
		return nil, err
	}
	var shards []Shard
	for _, v := range list(reply, "shards") {
		d, ok := v.DocumentOK()
		if !ok {
			continue
		}
		s := Shard{Name: Text(d, "_id")}
		var hosts string
		var found bool
		if s.Set, hosts, found = strings.Cut(Text(d, "host"), "/"); !found { // "rs0/a:1,b:1"
			s.Set, hosts = s.Name, s.Set
		}
		s.Hosts = strings.Split(hosts, ",")
		shards = append(shards, s)
	}
	return shards, nil
}

// QuerySets queries the members with data by replica set, hidden ones too: of the shards if the server is a router, of
// its own set otherwise. A standalone has none.
func QuerySets(ctx context.Context, c Commander, id Identity) (sets map[string][]string, router bool, err error) {
	if id.Hello.Router() {
		list, err := QueryShards(ctx, c)
		sets = map[string][]string{}
		for _, s := range list {
			sets[s.Set] = s.Hosts
		}
		return sets, true, err
	}
	if id.Hello.SetName == "" {
		return nil, false, nil
	}
	members := id.Hello.Data()
	if config, err := queryConfig(ctx, c, id); err == nil { // hidden members are in no hello
		members = nil
		for _, m := range config.Members {
			if !m.Arbiter {
				members = append(members, m.Host)
			}
		}
	}
	return map[string][]string{id.Hello.SetName: members}, false, nil
}

// routerSilence is the time after which a router that reported nothing counts as ended. Routers report twice a minute.
const routerSilence = 2 * time.Minute

// QueryRouters queries the routers of a cluster that run (config.mongos), from one of them. Names are those that the
// routers use for themselves.
func QueryRouters(ctx context.Context, c Commander) ([]string, error) {
	reply, err := QueryDB(ctx, c, "config", bson.D{{Key: "find", Value: "mongos"}, {Key: "batchSize", Value: 1000},
		{Key: "singleBatch", Value: true}})
	if err != nil {
		return nil, named("routers of the cluster (config.mongos)", err)
	}
	var newest time.Time // by the clock of the cluster
	type router struct {
		name string
		ping time.Time
	}
	var all []router
	for _, v := range list(reply, "cursor", "firstBatch") {
		if d, ok := v.DocumentOK(); ok {
			r := router{Text(d, "_id"), date(d, "ping")}
			all = append(all, r)
			if r.ping.After(newest) {
				newest = r.ping
			}
		}
	}
	var names []string
	for _, r := range all {
		if newest.Sub(r.ping) < routerSilence {
			names = append(names, r.name)
		}
	}
	return names, nil
}
