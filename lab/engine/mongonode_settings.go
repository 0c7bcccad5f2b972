package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// watchedParameters decide about durability and speed; a release without one of them leaves it out.
var watchedParameters = []string{
	"journalCommitInterval", "syncdelay", "enableFlowControl", "ttlMonitorEnabled", "featureCompatibilityVersion",
	"wiredTigerConcurrentReadTransactions", "wiredTigerConcurrentWriteTransactions", "replWriterThreadCount",
	"storageEngineConcurrentReadTransactions", "storageEngineConcurrentWriteTransactions", // their names since 7.0
}

// Settings reads how the server was started, its parameters, its replica set's configuration and its default concerns.
func (n *MongoNode) Settings(ctx context.Context) (map[string]string, error) {
	set := map[string]string{}
	if n.spec.Role == MongoArbiter && n.spec.KeyFile != "" {
		return set, nil // it keeps no users, so nobody can ask it
	}
	var failed error
	for _, ask := range n.settingCommands() {
		var doc bson.D
		if err := n.Command(ctx, AsUser, "admin", ask.command, &doc); err != nil {
			failed = errors.Join(failed, err) // not every release and kind of server has every command
			continue
		}
		for _, e := range doc {
			if key, wanted := ask.keep(e.Key); wanted {
				flatten(set, key, e.Value)
			}
		}
	}
	if len(set) == 0 && failed != nil {
		return nil, fmt.Errorf("cannot read the settings of %s: %w", n.spec.Name, failed)
	}
	return set, nil
}

// settingCommand is a command and what is kept of its answer, under which name.
type settingCommand struct {
	command bson.D
	keep    func(key string) (name string, wanted bool)
}

// only keeps some fields under their own names.
func only(names ...string) func(string) (string, bool) {
	return func(key string) (string, bool) {
		for _, n := range names {
			if n == key {
				return key, true
			}
		}
		return "", false
	}
}

func (n *MongoNode) settingCommands() []settingCommand {
	asks := []settingCommand{{bson.D{{Key: "getCmdLineOpts", Value: 1}}, only("parsed")}}
	if n.spec.Role != MongoRouter {
		get := bson.D{{Key: "getParameter", Value: 1}}
		for _, p := range watchedParameters {
			get = append(get, bson.E{Key: p, Value: 1})
		}
		asks = append(asks,
			settingCommand{get, func(key string) (string, bool) {
				_, ours := only(watchedParameters...)(key)
				return "parameter." + key, ours
			}},
			settingCommand{bson.D{{Key: "serverStatus", Value: 1}}, only("storageEngine")})
	}
	if n.spec.Role == MongoMember || n.spec.Role == MongoShard || n.spec.Role == MongoConfig {
		asks = append(asks, settingCommand{bson.D{{Key: "replSetGetConfig", Value: 1}}, func(key string) (string, bool) {
			return "replica-set", key == "config"
		}})
	}
	if n.spec.Role != MongoStandalone && n.spec.Role != MongoArbiter {
		asks = append(asks, settingCommand{bson.D{{Key: "getDefaultRWConcern", Value: 1}}, func(key string) (string, bool) {
			return key, strings.HasPrefix(key, "default")
		}})
	}
	return asks
}
