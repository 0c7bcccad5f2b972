package topology

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The maximums of a plan: more does not fit on a machine, or MongoDB refuses it.
const (
	maxMongoHosts   = 64
	maxMongoMembers = 50 // of a replica set (manual: "MongoDB Limits and Thresholds")
	maxShards       = 32
	maxRouters      = 32
	maxChunks       = 100_000
)

func checkMongo(asked spec.Lab) error {
	t := asked.Topology
	errs := []error{
		within("hosts.count", int64(asked.Hosts.Count), 0, maxMongoHosts),
		engine.CheckMongoCache(int64(asked.Engine.Cache)),
		checkMongoVersion(asked),
		mongoRoom(asked).Check(),
	}
	switch t.Kind {
	case spec.LabStandalone:
		errs = append(errs, checkStandalone(t))
	case spec.LabReplicaSet:
		errs = append(errs, checkSet(t))
	case spec.LabSharded:
		errs = append(errs, checkSet(t), checkSharded(t))
	default:
		errs = append(errs, fmt.Errorf("topology.kind: unknown kind %q; use standalone, replica-set or sharded", t.Kind))
	}
	return errors.Join(errs...)
}

func within(key string, n, low, high int64) error {
	if n < low || n > high {
		return fmt.Errorf("%s: %d is not between %d and %d", key, n, low, high)
	}
	return nil
}

func checkMongoVersion(asked spec.Lab) error {
	e := asked.Engine
	var v engine.MongoVersion
	if e.Version != "" {
		var err error
		if v, err = engine.ParseMongoVersion(e.Version); err != nil {
			return fmt.Errorf("engine.version: %w", err)
		}
		if !v.AtLeast(4, 4) {
			return fmt.Errorf("engine.version: %s is too old: labs need 4.4 or later", e.Version)
		}
	}
	if v.Known() {
		return errors.Join(checkMongoArgs(asked, v), checkRenamed(asked, v))
	}
	return checkMongoArgs(asked, v)
}

// checkMongoArgs refuses arguments of any role that the lab sets itself or that the release does not have.
func checkMongoArgs(asked spec.Lab, v engine.MongoVersion) error {
	var errs []error
	roles := asked.Engine.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		members := asked.Topology.Kind != spec.LabStandalone && role != "router"
		errs = append(errs, engine.CheckMongodArgs(spec.EngineKey(role, "args"), roles[role].Args, v, members))
	}
	return errors.Join(errs...)
}

func checkStandalone(t spec.Topology) error {
	if t.Members > 1 || t.Arbiter || len(t.Priorities) > 1 || len(t.Settings) > 0 || t.Shards > 1 {
		return errors.New("topology.kind: a standalone is one mongod without elections or shards; use replica-set or sharded for more")
	}
	return nil
}

// checkSet checks a replica set or the shards of a cluster.
func checkSet(t spec.Topology) error {
	errs := []error{within("topology.members", int64(t.Members), 1, maxMongoMembers)}
	if t.Arbiter && t.Members == 1 {
		errs = append(errs, errors.New("topology.arbiter: an arbiter is useless with a single member; use members: 2, "+
			"or leave the arbiter out"))
	}
	if t.Arbiter && t.Members >= maxVotes {
		errs = append(errs, fmt.Errorf("topology.arbiter: %d members already have the maximum of %d votes; leave the arbiter out, "+
			"or use members: %d", t.Members, maxVotes, maxVotes-1))
	}
	errs = append(errs, checkPriorities(t))
	_, err := setSettings(t)
	return errors.Join(append(errs, err)...)
}

func checkPriorities(t spec.Topology) error {
	if len(t.Priorities) == 0 {
		return nil
	}
	if len(t.Priorities) != int(t.Members) {
		return fmt.Errorf("topology.priorities: there are %d for %d members; give one for each member, without the arbiter",
			len(t.Priorities), t.Members)
	}
	var errs []error
	electable := false
	for i, p := range t.Priorities {
		if math.IsNaN(p) || p < 0 || p > 1000 {
			errs = append(errs, fmt.Errorf("topology.priorities: %v of member %d is not between 0 and 1000", p, i+1))
		}
		if i >= dataVotes(t) && p != 0 {
			errs = append(errs, fmt.Errorf("topology.priorities: member %d has no vote, because only %d may vote, "+
				"so its priority must be 0", i+1, maxVotes))
		}
		electable = electable || p > 0
	}
	if !electable {
		errs = append(errs, errors.New("topology.priorities: all are 0, so no member can become primary; "+
			"give at least one member more than 0"))
	}
	return errors.Join(errs...)
}

func checkSharded(t spec.Topology) error {
	errs := []error{
		within("topology.shards", int64(t.Shards), 1, maxShards),
		within("topology.config_servers", int64(t.ConfigServers), 1, maxVotes),
		within("topology.routers", int64(t.Routers), 1, maxRouters),
	}
	c := t.Collection
	if c == nil {
		return errors.Join(append(errs, errors.New("topology.collection: a sharded lab needs a sharded collection; "+
			"give its namespace, or leave topology.collection out for plimsoll.usertable"))...)
	}
	db, name, _ := strings.Cut(c.Namespace, ".")
	if c.Namespace != "" && (db == "" || name == "" || db == "admin" || db == "config" || db == "local") {
		errs = append(errs, fmt.Errorf("topology.collection.namespace: %q is not a user namespace DATABASE.COLLECTION", c.Namespace))
	}
	if c.Sharding != "" && c.Sharding != "hashed" && c.Sharding != "ranged" {
		errs = append(errs, fmt.Errorf("topology.collection.sharding: unknown sharding %q; use hashed or ranged", c.Sharding))
	}
	if c.Sharding == "ranged" && len(c.SplitAt) == 0 && c.Key != "" && c.Key != "_id" {
		errs = append(errs, fmt.Errorf("topology.collection.split_at: the default borders are for YCSB's keys in _id; "+
			"give borders for %s", c.Key))
	}
	if c.Sharding != "ranged" && len(c.SplitAt) > 0 {
		errs = append(errs, errors.New("topology.collection.split_at: borders need sharding: ranged; "+
			"a hashed key is distributed evenly without them"))
	}
	if !slices.IsSorted(c.SplitAt) || len(slices.Compact(slices.Clone(c.SplitAt))) != len(c.SplitAt) {
		errs = append(errs, errors.New("topology.collection.split_at: the borders are not in ascending order or not unique"))
	}
	if c.Chunks != 0 || len(c.SplitAt) > 0 {
		n := int64(c.Chunks)
		if len(c.SplitAt) > 0 && n != 0 && n != int64(len(c.SplitAt))+1 {
			errs = append(errs, fmt.Errorf("topology.collection.chunks: %d borders make %d chunks, not %d",
				len(c.SplitAt), len(c.SplitAt)+1, n))
		}
		if len(c.SplitAt) > 0 {
			n = int64(len(c.SplitAt)) + 1
		}
		errs = append(errs, within("topology.collection.chunks", n, 1, maxChunks))
		if n < int64(t.Shards) {
			errs = append(errs, fmt.Errorf("topology.collection.chunks: %d chunks leave some of the %d shards empty; "+
				"use at least one for each", n, t.Shards))
		}
	}
	return errors.Join(errs...)
}

// settingKinds are the settings of a replica set's configuration with the types of their values (manual: "Self-Managed
// Replica Set Configuration"). writeConcernMajorityJournalDefault is a field of the configuration itself, not of its
// settings.
var settingKinds = map[string]string{
	"chainingAllowed":                    "bool",
	"heartbeatIntervalMillis":            "int",
	"heartbeatTimeoutSecs":               "int",
	"electionTimeoutMillis":              "int",
	"catchUpTimeoutMillis":               "int",
	"catchUpTakeoverDelayMillis":         "int",
	"writeConcernMajorityJournalDefault": "bool",
}

// fastElection is the preset elect-fast: the values of Jepsen's tests of MongoDB, and four heartbeats within the
// election timeout. With the default heartbeat of 2 s a new primary considers a secondary dead after 1 s if it gets
// nothing else from it, as from one that waits for a sync source which was cut off, and steps down again:
// black-hole.yaml on 4.4.0 had outages of 11 s although there was a new primary after 2.1 s. elect-default sets
// nothing, so a set has the times of its release: 10 s until an election, 2 s between heartbeats.
var fastElection = map[string]string{
	"heartbeatIntervalMillis": "250", "heartbeatTimeoutSecs": "1", "electionTimeoutMillis": "1000",
	"catchUpTimeoutMillis": "1000", "catchUpTakeoverDelayMillis": "3000",
}

// setSettings returns the settings of each replica set: the preset, overridden by topology.settings. See also
// [settingKinds].
func setSettings(t spec.Topology) (bson.D, error) {
	all := map[string]string{}
	switch t.Election {
	case "", "elect-default":
	case "elect-fast":
		maps.Copy(all, fastElection)
	default:
		return nil, unknownElection(t)
	}
	maps.Copy(all, t.Settings)
	var d bson.D
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v, err := settingValue(name, all[name])
		errs = append(errs, err)
		d = append(d, bson.E{Key: name, Value: v})
	}
	return d, errors.Join(errs...)
}

func settingValue(name, text string) (any, error) {
	switch settingKinds[name] {
	case "bool":
		if v, err := strconv.ParseBool(text); err == nil {
			return v, nil
		}
		return nil, fmt.Errorf("topology.settings.%s: %q is neither true nor false", name, text)
	case "int":
		v, err := strconv.ParseInt(text, 10, 32)
		least := int64(1)
		if name == "catchUpTimeoutMillis" || name == "catchUpTakeoverDelayMillis" {
			least = -1 // unlimited
		}
		if err != nil || v < least {
			return nil, fmt.Errorf("topology.settings.%s: %q is not a whole number of at least %d", name, text, least)
		}
		return int32(v), nil
	}
	return nil, fmt.Errorf("topology.settings.%s: a lab has no such setting of replica sets%s", name,
		nearest.DidYouMean(name, slices.Sorted(maps.Keys(settingKinds))))
}
