package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

func notPrimary() bson.D { return failed(10107, "NotWritablePrimary", "not primary") }

// unrecorded commands are sent by drivers on their own account, or ask only who is who.
var unrecorded = map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "ping": true, "endSessions": true,
	"saslStart": true, "saslContinue": true, "killCursors": true, "connectionStatus": true}

// answer answers one command, or closes the connection with nil.
func (c *conn) answer(db string, command bson.D) (reply bson.D) {
	name := command[0].Key
	if !unrecorded[name] {
		c.s.recorder.command(db, command)
	}
	switch name {
	case "saslStart":
		return c.saslStart(command)
	case "saslContinue":
		return c.saslContinue(command)
	}
	check(c.s.change(func(st *state) error {
		if !c.allowed(st, name) {
			reply = failed(13, "Unauthorized", "command "+name+" requires authentication")
			return nil
		}
		reply = c.s.dispatch(st, db, name, command)
		return nil
	}))
	if name == "replSetStepDown" && c.s.is("step-down-closes") && get(reply, "code") == nil {
		return nil
	}
	if name == "replSetInitiate" && c.s.is("dies-after-initiate") {
		c.s.log("F", "Fatal assertion", map[string]any{"error": "the stand-in was told to die after replSetInitiate"})
		os.Exit(14)
	}
	return reply
}

// dispatch knows the commands; each answer is that of the manual's page of the command.
func (s *server) dispatch(st *state, db, name string, command bson.D) bson.D {
	switch name {
	case "hello", "isMaster", "ismaster":
		if name == "hello" && (s.Version == "4.4.0" || s.Version == "4.4.1") { // "hello": new in 4.4.2
			return failed(59, "CommandNotFound", "no such command: 'hello'")
		}
		return s.hello(st, command)
	case "ping", "endSessions", "killCursors", "setParameter", "connectionStatus":
		return good()
	case "buildInfo":
		return good(bson.E{Key: "version", Value: s.Version})
	case "getCmdLineOpts":
		return good(bson.E{Key: "argv", Value: os.Args}, bson.E{Key: "parsed", Value: s.parsed()})
	case "getParameter":
		asked := []bson.E{{Key: "journalCommitInterval", Value: int32(0)}, {Key: "syncdelay", Value: 60.0}}
		if get(command, "featureCompatibilityVersion") != nil { // manual: "View FeatureCompatibilityVersion"
			asked = append(asked, bson.E{Key: "featureCompatibilityVersion", Value: bson.D{{Key: "version", Value: fmt.Sprintf("%d.%d", s.major, s.minor)}}})
		}
		return good(asked...)
	case "serverStatus":
		return s.serverStatus()
	case "listDatabases":
		return good(bson.E{Key: "databases", Value: bson.A{bson.D{{Key: "name", Value: "admin"}, {Key: "sizeOnDisk", Value: int64(40960)}, {Key: "empty", Value: false}}}},
			bson.E{Key: "totalSize", Value: int64(40960)}, bson.E{Key: "totalSizeMb", Value: int64(0)})
	case "getDefaultRWConcern":
		concerns := []bson.E{{Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: "local"}}}}
		if s.atLeast(5, 0) { // release notes of 5.0: the implicit default write concern is w: "majority"
			concerns = append(concerns, bson.E{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: int32(0)}}},
				bson.E{Key: "defaultWriteConcernSource", Value: "implicit"})
		}
		return good(concerns...)
	case "createUser":
		return s.createUser(st, command)
	case "insert", "find", "delete", "drop", "dropDatabase":
		return s.documents(st, db, name, command)
	}
	if s.router {
		return s.dispatchRouter(st, name, command)
	}
	if s.args["replSet"] == "" {
		return failed(76, "NoReplicationEnabled", "not running with --replSet")
	}
	return s.dispatchSet(st, name, command)
}

// serverStatus is a part of what the manual's page of that name lists: the engine, its cache and its journal, which every
// mongod has since 6.1 and mongos has not.
func (s *server) serverStatus() bson.D {
	if s.router {
		return good()
	}
	cache := bson.D{{Key: "maximum bytes configured", Value: int64(512 << 20)}, {Key: "bytes currently in the cache", Value: int64(1 << 20)}}
	log := bson.D{{Key: "maximum log file size", Value: int64(100 << 20)}, {Key: "log sync operations", Value: int64(7)}}
	return good(bson.E{Key: "storageEngine", Value: bson.D{{Key: "name", Value: "wiredTiger"}, {Key: "persistent", Value: true}}},
		bson.E{Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: cache}, {Key: "log", Value: log}}})
}

// parsed is the command line as the server understood it.
func (s *server) parsed() bson.D {
	net := bson.D{{Key: "bindIp", Value: s.args["bind_ip"]}, {Key: "port", Value: s.args["port"]}}
	storage := bson.D{{Key: "dbPath", Value: s.args["dbpath"]}}
	return bson.D{{Key: "net", Value: net}, {Key: "storage", Value: storage}}
}

// wireVersions are the newest wire versions of releases, as the drivers' specification "Wire Version" lists them.
var wireVersions = map[int]int32{4: 9, 5: 13, 6: 17, 7: 21, 8: 25}

// hello is the answer to "hello": its page in the manual has a list of fields for each kind of server.
func (s *server) hello(st *state, command bson.D) bson.D {
	d := bson.D{{Key: "helloOk", Value: true}, {Key: "maxBsonObjectSize", Value: int32(16 << 20)},
		{Key: "maxMessageSizeBytes", Value: int32(48000000)}, {Key: "maxWriteBatchSize", Value: int32(100000)},
		{Key: "localTime", Value: time.Now()}, {Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
		{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: wireVersions[s.major]}, {Key: "readOnly", Value: false}}
	if get(command, "saslSupportedMechs") != nil {
		d = append(d, bson.E{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}})
	}
	writable := s.router || s.args["replSet"] == ""
	rs := st.set(s)
	switch {
	case s.router:
		d = append(d, bson.E{Key: "msg", Value: "isdbgrid"})
	case s.args["replSet"] != "" && rs == nil:
		why := "Does not have a valid replica set config"
		if st.Sets[s.args["replSet"]] != nil {
			why = "Our replica set config is invalid or we are not a member of it"
		}
		d = append(d, bson.E{Key: "secondary", Value: false}, bson.E{Key: "info", Value: why}, bson.E{Key: "isreplicaset", Value: true})
	case rs != nil:
		writable = rs.Primary == s.address
		d = append(d, s.helloMember(rs)...)
	}
	d = append(d, bson.E{Key: "isWritablePrimary", Value: writable}, bson.E{Key: "ismaster", Value: writable})
	return good(d...)
}

func (s *server) helloMember(rs *replicaSet) bson.D {
	hosts, passives, arbiters := bson.A{}, bson.A{}, bson.A{}
	arbiter := false
	for _, m := range rs.members() {
		switch {
		case m.arbiter:
			arbiters = append(arbiters, m.host)
			arbiter = arbiter || m.host == s.address
		case m.priority == 0:
			passives = append(passives, m.host)
		default:
			hosts = append(hosts, m.host)
		}
	}
	d := bson.D{{Key: "hosts", Value: hosts}, {Key: "setName", Value: s.args["replSet"]}, {Key: "setVersion", Value: int32(rs.Version)},
		{Key: "me", Value: s.address}, {Key: "secondary", Value: rs.Primary != s.address && !arbiter}}
	if len(passives) > 0 {
		d = append(d, bson.E{Key: "passives", Value: passives})
	}
	if len(arbiters) > 0 {
		d = append(d, bson.E{Key: "arbiters", Value: arbiters})
	}
	if arbiter {
		d = append(d, bson.E{Key: "arbiterOnly", Value: true})
	}
	if rs.Primary != "" {
		d = append(d, bson.E{Key: "primary", Value: rs.Primary})
	}
	if rs.Primary == s.address {
		id := bson.ObjectID{0x7f, 0xff, 0xff, 0xff}
		for i := range 8 {
			id[11-i] = byte(rs.Term >> (8 * i))
		}
		d = append(d, bson.E{Key: "electionId", Value: id})
	}
	return d
}

// createUser keeps a user where the manual says users live ("Users in Self-Managed Deployments").
func (s *server) createUser(st *state, command bson.D) bson.D {
	users := st.users(s)
	rs := st.set(s)
	if s.args["replSet"] != "" && (rs == nil || rs.Primary != s.address) {
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
	if rs != nil {
		rs.Users = users
		return s.confirm(st, rs, command, good())
	}
	st.Alone[s.address] = users
	return good()
}

// confirm adds what became of the write concern (manual: "Write Concern").
func (s *server) confirm(st *state, rs *replicaSet, command, reply bson.D) bson.D {
	if text(sub(command, "writeConcern"), "w") != "majority" {
		return reply
	}
	if !rs.majority(st) || s.is("no-majority") {
		return append(reply, bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: int32(64)},
			{Key: "codeName", Value: "WriteConcernTimeout"}, {Key: "errmsg", Value: "waiting for replication timed out"}}})
	}
	rs.Committed++
	return reply
}

// documents are the few commands on documents that are needed to see whether writes work.
func (s *server) documents(st *state, db, name string, command bson.D) bson.D {
	rs := st.set(s)
	info := st.Servers[s.address]
	if s.args["replSet"] != "" && (rs == nil || rs.Primary != s.address && name != "find") {
		return notPrimary()
	}
	if info.ConfigSvr && !slices.Contains([]string{"admin", "config", "local"}, db) {
		return failed(73, "InvalidNamespace", "Cannot create databases of users on config servers: "+db)
	}
	if s.router && len(st.Cluster.Shards) == 0 {
		return failed(70, "ShardNotFound", "Database "+db+" could not be created :: caused by :: No shards found")
	}
	if s.router && db == "config" && name == "find" {
		return st.Cluster.find(s, command)
	}
	reply := s.apply(db, name, command)
	if rs == nil {
		return reply
	}
	return s.confirm(st, rs, command, reply)
}

// apply does it to the documents that this very process holds.
func (s *server) apply(db, name string, command bson.D) bson.D {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, _ := command[0].Value.(string)
	ns := db + "." + of
	switch name {
	case "insert":
		docs, _ := get(command, "documents").(bson.A)
		if s.data[ns] == nil {
			s.data[ns] = map[string][]byte{}
		}
		for _, d := range docs {
			raw, err := bson.Marshal(d)
			check(err)
			s.data[ns][bson.Raw(raw).Lookup("_id").String()] = raw
		}
		return good(bson.E{Key: "n", Value: int32(len(docs))})
	case "find":
		batch := bson.A{}
		for id, raw := range s.data[ns] {
			filter, err := bson.Marshal(sub(command, "filter"))
			check(err)
			if bson.Raw(filter).Lookup("_id").String() == id {
				batch = append(batch, bson.Raw(raw))
			}
		}
		return cursor(ns, batch)
	case "dropDatabase":
		for ns := range s.data {
			if strings.HasPrefix(ns, db+".") {
				delete(s.data, ns)
			}
		}
	case "drop":
		delete(s.data, ns)
	}
	return good()
}

func cursor(ns string, batch bson.A) bson.D {
	return good(bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: ns}, {Key: "firstBatch", Value: batch}}})
}

// rollBack writes a file as a member does that gives up writes when it joins again (manual: "Rollbacks During Replica
// Set Failover": DBPATH/rollback/UUID/removed.TIME.bson).
func (s *server) rollBack() error {
	dir := filepath.Join(s.args["dbpath"], "rollback", "20f74796-d5ea-42f5-8c95-f79b39bad190")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	raw, err := bson.Marshal(bson.D{{Key: "_id", Value: "lost"}})
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "removed.2026-11-22T10-00-00.0.bson"), raw, 0o600))
}

// optime is the time of the n-th write of a majority.
func optime(n int64) bson.D {
	ts := bson.Timestamp{}
	if n > 0 {
		ts = bson.Timestamp{T: uint32(1_700_000_000 + min(n, math.MaxInt32/4)), I: 1}
	}
	return bson.D{{Key: "ts", Value: ts}, {Key: "t", Value: int64(1)}}
}
