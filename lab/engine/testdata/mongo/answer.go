package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// good and failed are the two forms of an answer (manual: "Database Commands", responses; "Error Codes").
func good(more ...bson.E) bson.D { return append(more, bson.E{Key: "ok", Value: 1.0}) }

func failed(code int, name, message string) bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: message}, {Key: "code", Value: int32(code)}, {Key: "codeName", Value: name}}
}

// unrecorded commands are sent by drivers on their own account, or ask only who is who.
var unrecorded = map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "ping": true, "endSessions": true,
	"saslStart": true, "saslContinue": true, "killCursors": true, "connectionStatus": true}

// loads says whether a command belongs to a load rather than to a lab: it is not written down.
func loads(db, name string) bool {
	_, documents := onDocuments[name]
	return documents && !slices.Contains([]string{"admin", "config", "plimsoll_ready"}, db)
}

// answer answers one command, or closes the connection with nil.
func (c *conn) answer(db string, command bson.D) (reply bson.D) {
	name, s := command[0].Key, c.s
	if name == "standinRouted" {
		routed := sub(command, "command")
		return s.documents(text(command, name), routed[0].Key, routed)
	}
	if internal[name] {
		return s.replica.hear(name, command)
	}
	if !unrecorded[name] && !loads(db, name) {
		s.recorder.command(db, command)
	}
	switch {
	case name == "saslStart":
		return c.saslStart(command)
	case name == "saslContinue":
		return c.saslContinue(command)
	case !c.allowed(name):
		return failed(13, "Unauthorized", "command "+name+" requires authentication")
	}
	if s.routes(db, name) {
		return s.route(db, name, command)
	}
	if reply = s.dispatch(db, name, command); reply == nil {
		check(s.change(func(st *state) error {
			reply = s.dispatchShared(st, db, name, command)
			return nil
		}))
	}
	if name == "createUser" && !s.router && get(reply, "code") == nil {
		reply = s.replica.recordUser(command, reply)
	}
	if name == "replSetStepDown" && s.is("step-down-closes") && get(reply, "code") == nil {
		return nil
	}
	if name == "replSetInitiate" && s.is("dies-after-initiate") {
		s.log("F", "Fatal assertion", map[string]any{"error": "the stand-in was told to die after replSetInitiate"})
		os.Exit(14)
	}
	return reply
}

// dispatch knows the commands; each answer is that of the manual's page of the command. It is nil for one that needs
// what all processes share.
func (s *server) dispatch(db, name string, command bson.D) bson.D {
	switch name {
	case "hello", "isMaster", "ismaster":
		if name == "hello" && !s.hasHello() {
			return failed(59, "CommandNotFound", "no such command: 'hello'")
		}
		return s.hello(command)
	case "ping", "endSessions", "setParameter", "connectionStatus":
		return good()
	case "killCursors":
		return s.replica.killCursors(command)
	case "buildInfo":
		return good(bson.E{Key: "version", Value: s.Version}, bson.E{Key: "gitVersion", Value: "plimsoll-stand-in"})
	case "getCmdLineOpts":
		return good(bson.E{Key: "argv", Value: os.Args}, bson.E{Key: "parsed", Value: s.parsed()})
	case "getParameter":
		asked := []bson.E{{Key: "journalCommitInterval", Value: int32(0)}, {Key: "syncdelay", Value: 60.0}}
		if get(command, "featureCompatibilityVersion") != nil { // manual: "View FeatureCompatibilityVersion"
			if s.replica.arbiter() && s.atLeast(5, 0) { // seen on 5.0
				return failed(258, "UnknownFeatureCompatibilityVersion", "featureCompatibilityVersion is not yet known.")
			}
			asked = append(asked, bson.E{Key: "featureCompatibilityVersion", Value: bson.D{{Key: "version", Value: fmt.Sprintf("%d.%d", s.major, s.minor)}}})
		}
		return good(asked...)
	case "serverStatus":
		return s.serverStatus()
	case "fsync", "fsyncUnlock":
		if s.router {
			return nil
		}
		return s.replica.fsync(name == "fsync")
	case "listDatabases":
		return good(bson.E{Key: "databases", Value: bson.A{bson.D{{Key: "name", Value: "admin"},
			{Key: "sizeOnDisk", Value: int64(40960)}, {Key: "empty", Value: false}}}},
			bson.E{Key: "totalSize", Value: int64(40960)}, bson.E{Key: "totalSizeMb", Value: int64(0)})
	case "dbStats":
		return good(bson.E{Key: "dataSize", Value: 4096.0}, bson.E{Key: "indexSize", Value: 4096.0})
	case "hostInfo":
		return good(bson.E{Key: "system", Value: bson.D{{Key: "hostname", Value: "standin:27017"},
			{Key: "memSizeMB", Value: int64(4096)}, {Key: "memLimitMB", Value: int64(2048)}, {Key: "numCores", Value: int32(2)}}},
			bson.E{Key: "os", Value: bson.D{{Key: "type", Value: "Linux"}}},
			bson.E{Key: "extra", Value: bson.D{{Key: "kernelVersion", Value: "6.1.0"}, {Key: "maxOpenFiles", Value: int32(64000)}}})
	case "getLog":
		return good(bson.E{Key: "totalLinesWritten", Value: int32(0)}, bson.E{Key: "log", Value: bson.A{}})
	case "getDefaultRWConcern":
		concerns := []bson.E{{Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: "local"}}}}
		if s.atLeast(5, 0) { // release notes of 5.0: the implicit default write concern is w: "majority"
			concerns = append(concerns, bson.E{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: int32(0)}}},
				bson.E{Key: "defaultWriteConcernSource", Value: "implicit"})
		}
		return good(concerns...)
	}
	_, documents := onDocuments[name]
	switch {
	case s.router, name == "createUser", name == "updateUser", name == "replSetInitiate":
		return nil
	case documents:
		return s.documents(db, name, command)
	case s.args["replSet"] == "":
		return failed(76, "NoReplicationEnabled", "not running with --replSet")
	}
	return s.dispatchSet(name, command)
}

// dispatchShared knows the commands that need what all processes share.
func (s *server) dispatchShared(st *state, db, name string, command bson.D) bson.D {
	_, documents := onDocuments[name]
	switch {
	case name == "createUser":
		return s.createUser(st, command)
	case name == "updateUser":
		return s.updateUser(st, command)
	case name == "replSetInitiate" && !s.router:
		return s.initiate(st, command)
	case documents && len(st.Cluster.Shards) == 0:
		return failed(70, "ShardNotFound", "Database "+db+" could not be created :: caused by :: No shards found")
	case db == "config" && name == "find":
		return st.Cluster.find(s, command)
	case documents && !(db == "config" && name == "aggregate"):
		return s.documents(db, name, command)
	}
	return s.dispatchRouter(st, db, name, command)
}

// serverStatus is a part of what the manual's page of that name lists: the operations, the engine, its cache and its
// journal, which every mongod has since 6.1 and mongos has not.
func (s *server) serverStatus() bson.D {
	if s.router {
		return good()
	}
	r := s.replica
	r.mu.Lock()
	defer r.mu.Unlock()
	counters := bson.D{}
	for _, name := range []string{"insert", "update", "delete", "getMore"} {
		counters = append(counters, bson.E{Key: strings.ToLower(name), Value: r.counted[name]})
	}
	counters = append(counters, bson.E{Key: "query", Value: r.counted["find"]})
	cache := bson.D{{Key: "maximum bytes configured", Value: int64(512 << 20)}, {Key: "bytes currently in the cache", Value: int64(1 << 20)}}
	log := bson.D{{Key: "maximum log file size", Value: int64(100 << 20)}, {Key: "log sync operations", Value: r.journal.syncs},
		{Key: "log bytes written", Value: r.journal.bytes}}
	reply := good(bson.E{Key: "host", Value: s.address}, bson.E{Key: "uptimeMillis", Value: time.Since(s.began).Milliseconds()},
		bson.E{Key: "opcounters", Value: counters},
		bson.E{Key: "metrics", Value: bson.D{{Key: "commands", Value: bson.D{
			{Key: "fsync", Value: bson.D{{Key: "total", Value: r.counted["fsync"]}, {Key: "failed", Value: int64(0)}}}}}}},
		bson.E{Key: "storageEngine", Value: bson.D{{Key: "name", Value: "wiredTiger"}, {Key: "persistent", Value: true}}},
		bson.E{Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: cache}, {Key: "log", Value: log}}})
	if s.atLeast(8, 0) { // production notes, "TCMalloc Performance Optimization for a Self-Managed Deployment"
		perCPU := strings.Contains(os.Getenv("GLIBC_TUNABLES"), "glibc.pthread.rseq=0")
		reply = append(reply, bson.E{Key: "tcmalloc", Value: bson.D{{Key: "usingPerCPUCaches", Value: perCPU},
			{Key: "generic", Value: bson.D{{Key: "heap_size", Value: int64(1)}}}}})
	}
	return reply
}

// parsed is the command line as the server understood it.
func (s *server) parsed() bson.D {
	net := bson.D{{Key: "bindIp", Value: s.args["bind_ip"]}, {Key: "port", Value: s.args["port"]}}
	storage := bson.D{{Key: "dbPath", Value: s.args["dbpath"]}}
	return bson.D{{Key: "net", Value: net}, {Key: "storage", Value: storage}}
}

// updateUser is the command of that name.
func (s *server) updateUser(st *state, command bson.D) bson.D {
	users, name := st.users(s), text(command, "updateUser")
	if _, there := users[name]; !there {
		return failed(11, "UserNotFound", "User "+name+"@admin not found")
	}
	users[name] = newCredential(text(command, "pwd"))
	return good()
}

// createUser keeps a user where the manual says users live ("Users in Self-Managed Deployments"), but in the directory
// that all processes share.
func (s *server) createUser(st *state, command bson.D) bson.D {
	users := st.users(s)
	if r := s.replica; s.args["replSet"] != "" && !r.leads() {
		return notPrimary()
	}
	name := text(command, "createUser")
	if _, there := users[name]; there {
		return failed(51003, "Location51003", `User "`+name+`@admin" already exists`)
	}
	if roles, _ := get(command, "roles").(bson.A); len(roles) == 0 || text(command, "pwd") == "" {
		return failed(2, "BadValue", "createUser needs pwd and roles")
	}
	if users == nil {
		users = map[string]credential{}
	}
	users[name] = newCredential(text(command, "pwd"))
	if rs := st.Sets[s.args["replSet"]]; rs != nil {
		rs.Users = users
		return good()
	}
	st.Alone[s.address] = users
	return good()
}

// documents does a command on documents.
func (s *server) documents(db, name string, command bson.D) bson.D {
	if s.args["configsvr"] != "" && !slices.Contains([]string{"admin", "config", "local"}, db) {
		return failed(73, "InvalidNamespace", "Cannot create databases of users on config servers: "+db)
	}
	if onDocuments[name] {
		return s.replica.write(db, name, command)
	}
	return s.replica.read(db, name, command)
}

func cursorOf(ns string, batch bson.A) bson.D {
	return good(bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: ns}, {Key: "firstBatch", Value: batch}}})
}
