package store

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ServerInfo asks a target what it is and how it is set. Whatever cannot be read becomes a note and does
// not make the rest fail; a target that answers nothing gives an Info of notes only.
func ServerInfo(ctx context.Context, c Commander) Info {
	info := Info{Settings: map[string]string{}}
	ask := func(what string, cmd bson.D, use func(*Info, bson.Raw)) {
		reply, err := run(ctx, c, "admin", cmd)
		if err != nil {
			info.Notes = append(info.Notes, what+" could not be read: "+OneLine(err.Error()))
			return
		}
		use(&info, reply)
	}
	ask("role and topology (hello)", bson.D{{Key: "hello", Value: 1}}, readHello)
	ask("version (buildInfo)", bson.D{{Key: "buildInfo", Value: 1}}, readBuildInfo)
	ask("server options (getCmdLineOpts)", bson.D{{Key: "getCmdLineOpts", Value: 1}}, readCmdLine)
	if info.Kind != "ferretdb" {
		ask("server parameters (getParameter)", parameterCommand(), readParameters)
	}
	if info.Topology != "standalone" {
		ask("default concerns (getDefaultRWConcern)", bson.D{{Key: "getDefaultRWConcern", Value: 1}}, readDefaults)
	}
	ask("storage engine (serverStatus)", bson.D{{Key: "serverStatus", Value: 1}}, readStatus)
	return info
}

func readHello(info *Info, r bson.Raw) {
	info.Kind, info.Topology = "mongod", "standalone"
	info.SetName = text(r, "setName")
	switch {
	case text(r, "msg") == "isdbgrid":
		info.Kind, info.Topology = "mongos", "sharded"
	case info.SetName != "":
		info.Topology = "replica set"
	}
	for _, field := range [...]string{"hosts", "passives", "arbiters"} {
		if list, ok := r.Lookup(field).ArrayOK(); ok {
			info.Hosts = append(info.Hosts, texts(list)...)
		}
	}
	info.Hosts = sortedUnique(info.Hosts)
	for _, field := range [...]string{"maxBsonObjectSize", "maxMessageSizeBytes", "maxWriteBatchSize", "maxWireVersion"} {
		info.set(field, r.Lookup(field))
	}
}

// readBuildInfo reads the version. FerretDB reports the version of MongoDB that it imitates and its own
// in a document of its name.
func readBuildInfo(info *Info, r bson.Raw) {
	info.Version = text(r, "version")
	if d, ok := r.Lookup("ferretdb").DocumentOK(); ok {
		info.Kind = "ferretdb"
		info.Settings["imitated version"] = info.Version
		info.Version = text(d, "version")
		info.set("package", d.Lookup("package"))
	} else if strings.Contains(strings.ToLower(info.Version), "ferretdb") {
		info.Kind = "ferretdb"
	}
	if v := text(r, "psmdbVersion"); v != "" {
		info.Settings["distribution"] = "Percona Server for MongoDB " + v
	}
	info.set("gitVersion", r.Lookup("gitVersion"))
	info.set("allocator", r.Lookup("allocator"))
}

// readCmdLine takes the option groups that decide speed and durability. The others may hold paths of
// keys and are nobody's business.
func readCmdLine(info *Info, r bson.Raw) {
	parsed, ok := r.Lookup("parsed").DocumentOK()
	if !ok {
		return
	}
	for _, group := range [...]string{"storage", "replication", "sharding", "operationProfiling"} {
		if d, ok := parsed.Lookup(group).DocumentOK(); ok {
			info.flatten(group, d)
		}
	}
}

var parameters = [...]string{
	"featureCompatibilityVersion", "journalCommitInterval", "syncdelay", "wiredTigerConcurrentReadTransactions",
	"wiredTigerConcurrentWriteTransactions", "wiredTigerEngineRuntimeConfig", "enableFlowControl", "flowControlTargetLagSeconds",
}

func parameterCommand() bson.D {
	cmd := bson.D{{Key: "getParameter", Value: 1}}
	for _, p := range parameters {
		cmd = append(cmd, bson.E{Key: p, Value: 1})
	}
	return cmd
}

func readParameters(info *Info, r bson.Raw) {
	for _, p := range parameters {
		if d, ok := r.Lookup(p).DocumentOK(); ok {
			info.flatten("parameter "+p, d)
			continue
		}
		info.set("parameter "+p, r.Lookup(p))
	}
}

func readDefaults(info *Info, r bson.Raw) {
	for _, field := range [...]string{"defaultReadConcern", "defaultWriteConcern"} {
		if d, ok := r.Lookup(field).DocumentOK(); ok {
			info.flatten(field, d)
		}
	}
}

func readStatus(info *Info, r bson.Raw) {
	info.set("storage engine", r.Lookup("storageEngine", "name"))
	info.set("storage engine persistent", r.Lookup("storageEngine", "persistent"))
	info.set("wiredTiger cache bytes", r.Lookup("wiredTiger", "cache", "maximum bytes configured"))
}

// set keeps a setting if the server reported it.
func (info *Info) set(name string, v bson.RawValue) {
	if v.Type != 0 {
		info.Settings[name] = plain(v)
	}
}

// flatten keeps the scalars below d under dotted names.
func (info *Info) flatten(prefix string, d bson.Raw) {
	elems, err := d.Elements()
	if err != nil {
		return
	}
	for _, e := range elems {
		name := prefix + "." + e.Key()
		if sub, ok := e.Value().DocumentOK(); ok {
			info.flatten(name, sub)
			continue
		}
		info.set(name, e.Value())
	}
}
