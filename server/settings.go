package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// optionGroups are the groups of options with an effect on speed and durability. Other groups may have paths of keys.
var optionGroups = [...]string{"storage", "replication", "sharding", "operationProfiling", "setParameter"}

// Settings queries the settings with an effect on speed and durability, by name: options, parameters, the configuration
// of the set, concerns, the storage engine. It sends only queries that the kind of server supports. The error joins an
// [*Unanswered] for each refused query; the other settings are returned.
func Settings(ctx context.Context, c Commander, id Identity) (map[string]string, error) {
	s := settings{}
	var refused []error
	asked := func(what, command string) bson.Raw {
		reply, err := query(ctx, c, command)
		if err != nil {
			refused = append(refused, named(what+" ("+command+")", err))
		}
		return reply
	}
	s.options(asked("server options", "getCmdLineOpts"))
	if names := Parameters(id); len(names) > 0 {
		reply, err := queryParameters(ctx, c, names...)
		if err != nil && slices.Contains(names, compatibility) { // an arbiter does not know it, and refuses the whole query
			names = slices.DeleteFunc(names, func(name string) bool { return name == compatibility })
			reply, err = queryParameters(ctx, c, names...)
		}
		if err != nil {
			refused = append(refused, named("server parameters (getParameter)", err))
		}
		for _, name := range names {
			s.add("parameter "+name, lookup(reply, name))
		}
	}
	var config Config
	if id.Hello.SetName != "" && id.Kind == Mongod {
		reply := asked("configuration of the replica set", "replSetGetConfig")
		config = readConfig(reply)
		s.set(config, lookup(reply, "config", "settings"))
	}
	switch {
	case id.Topology() == "standalone" && id.Kind == Mongod && len(id.Hello.Raw) > 0:
		s.concerns(nil, id, config) // a standalone refuses the query, because its default cannot be changed
	case id.Topology() != "standalone" && !id.Hello.Arbiter:
		if reply := asked("default concerns", "getDefaultRWConcern"); reply != nil {
			s.concerns(reply, id, config)
		}
	}
	s.status(asked("storage engine", "serverStatus"))
	return s, errors.Join(refused...)
}

// Profiler describes the profiler of a database, and the operations that the server logs as slow: the level, the
// threshold in milliseconds, and the share. It is empty with a server's defaults, for a server without a profiler, and
// for a user who may not query it.
func Profiler(ctx context.Context, c Commander, id Identity, database string) string {
	if id.Kind != Mongod {
		return ""
	}
	reply, err := QueryDB(ctx, c, database, bson.D{{Key: "profile", Value: -1}})
	if err != nil {
		return ""
	}
	level, slow := whole(reply, "was"), whole(reply, "slowms")
	share, known := Number(reply, "sampleRate")
	if level == 0 && slow == 100 && (share == 1 || !known) {
		return ""
	}
	text := fmt.Sprintf("level %d, slowms %d, sampleRate %g", level, slow, share)
	if filter := lookup(reply, "filter"); filter.Type != 0 {
		text += ", filter " + filter.String()
	}
	return text
}

// settings are values by name.
type settings map[string]string

// options adds the optionGroups of getCmdLineOpts.
func (s settings) options(reply bson.Raw) {
	for _, group := range optionGroups {
		s.add(group, lookup(reply, "parsed", group))
	}
}

// concerns adds the default concerns, explicit or implicit.
func (s settings) concerns(reply bson.Raw, id Identity, config Config) {
	s.add("defaultReadConcern", lookup(reply, "defaultReadConcern"))
	s.add("defaultWriteConcern", lookup(reply, "defaultWriteConcern"))
	if d := readConcerns(reply, id, config); d.W != "" && !IgnoresConcerns(id.Kind) {
		s["defaultWriteConcern.w"], s["defaultWriteConcernSource"] = d.W, d.Source
	}
}

// set adds the parts of the configuration of a set on which verdicts depend: priorities, votes and elections. Names,
// addresses, term and version differ between equivalent sets.
func (s settings) set(config Config, elections bson.RawValue) {
	const top = "replica-set"
	if b := config.MajorityJournal; b != nil {
		s[top+".writeConcernMajorityJournalDefault"] = strconv.FormatBool(*b)
	}
	s.add(top+".settings", elections)
	delete(s, top+".settings.replicaSetId")
	for i, m := range config.Members {
		at := top + ".members." + strconv.Itoa(i)
		s[at+".priority"], s[at+".votes"] = strconv.FormatFloat(m.Priority, 'g', -1, 64), strconv.Itoa(m.Votes)
		if m.Arbiter {
			s[at+".arbiterOnly"] = "true"
		}
		if m.Hidden {
			s[at+".hidden"] = "true"
		}
		if m.DelaySeconds > 0 {
			s[at+".secondaryDelaySecs"] = strconv.FormatFloat(m.DelaySeconds, 'g', -1, 64)
		}
	}
}

func (s settings) status(reply bson.Raw) {
	s.add("storage engine", lookup(reply, "storageEngine", "name"))
	s.add("storage engine persistent", lookup(reply, "storageEngine", "persistent"))
	s.add("allocator caches per CPU", lookup(reply, "tcmalloc", "usingPerCPUCaches")) // since 8.0
	s.add("wiredTiger cache bytes", lookup(reply, "wiredTiger", "cache", "maximum bytes configured"))
}

// add adds a value, and the parts of documents and lists under dotted names.
func (s settings) add(name string, v bson.RawValue) {
	if d, ok := v.DocumentOK(); ok {
		elements, err := d.Elements()
		if err != nil {
			return
		}
		for _, e := range elements {
			s.add(name+"."+e.Key(), e.Value())
		}
		return
	}
	if a, ok := v.ArrayOK(); ok {
		values, err := a.Values()
		if err != nil {
			return
		}
		for i, e := range values {
			s.add(name+"."+strconv.Itoa(i), e)
		}
		return
	}
	if v.Type != 0 {
		s[name] = plain(v)
	}
}
