package server

import (
	"context"
	"strings"
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
