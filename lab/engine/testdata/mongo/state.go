package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// state is what all processes of a test share.
type state struct {
	Servers map[string]info // by address
	Sets    map[string]*replicaSet
	Alone   map[string]map[string]credential // the users of standalones, by address
	Cluster cluster
	shared  string
}

// info is how a server was started.
type info struct {
	Set                 string
	ConfigSvr, ShardSvr bool
}

// replicaSet is what of a set is of interest outside of it. Its members agree by messages, and not by this.
type replicaSet struct {
	Config  []byte // the document
	Primary string // as the primary itself told last
	Users   map[string]credential
}

type member struct {
	id       int
	host     string
	priority float64
	votes    int
	arbiter  bool
}

// cluster is what config servers keep.
type cluster struct {
	Shards      []string
	Hosts       map[string]string
	Failures    int // of addShard, so far
	Balancer    bool
	Concern     bool
	Databases   map[string]string // primary shard
	Enabled     map[string]bool
	Collections map[string]*collection
}

func newCluster() cluster {
	return cluster{Hosts: map[string]string{}, Balancer: true, Databases: map[string]string{}, Enabled: map[string]bool{},
		Collections: map[string]*collection{}}
}

type collection struct {
	Key    string
	Hashed bool
	Chunks []chunk
}

// chunk begins at Low, "" for the first one, and ends where the next one begins.
type chunk struct{ Low, Shard string }

// change reads the shared state, lets f change it and writes it, while nobody else does.
func (s *server) change(f func(*state) error) error {
	lock, err := os.OpenFile(filepath.Join(s.shared, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	st := &state{Servers: map[string]info{}, Sets: map[string]*replicaSet{}, Alone: map[string]map[string]credential{},
		shared: s.shared}
	st.Cluster = newCluster()
	file := filepath.Join(s.shared, "state.json")
	before, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(before, st)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	failed := f(st)
	after, err := json.Marshal(st)
	if err == nil && string(after) != string(before) {
		if err = os.WriteFile(file+".new", after, 0o600); err == nil { // who is killed here leaves the old state
			err = os.Rename(file+".new", file)
		}
	}
	return errors.Join(failed, err)
}

func (st *state) register(s *server) {
	st.Servers[s.address] = info{Set: s.args["replSet"], ConfigSvr: s.args["configsvr"] != "", ShardSvr: s.args["shardsvr"] != ""}
}

// alive says whether the process at an address lives: it holds its file.
func (st *state) alive(address string) bool {
	f, err := os.Open(filepath.Join(st.shared, "alive-"+address))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// users are those that a server can authenticate: a cluster's are kept by its config servers.
func (st *state) users(s *server) map[string]credential {
	name := s.args["replSet"]
	if s.router {
		name, _, _ = strings.Cut(s.args["configdb"], "/")
	}
	if name == "" {
		return st.Alone[s.address]
	}
	// those that are kept are of another set of the name; arbiters keep none
	if r := s.replica; !s.router && (!r.initiated() || r.arbiter()) {
		return nil
	}
	if rs := st.Sets[name]; rs != nil {
		return rs.Users
	}
	return nil
}

func (rs *replicaSet) config() bson.D {
	var d bson.D
	check(bson.Unmarshal(rs.Config, &d))
	return d
}

func (rs *replicaSet) members() []member { return membersOf(rs.config()) }

// membersOf reads the members of a configuration with the manual's defaults: one vote, priority 1, arbiters 0.
func membersOf(config bson.D) []member {
	var all []member
	docs, _ := get(config, "members").(bson.A)
	for _, v := range docs {
		d, _ := v.(bson.D)
		m := member{id: int(number(d, "_id")), host: text(d, "host"), priority: 1, votes: 1}
		m.arbiter, _ = get(d, "arbiterOnly").(bool)
		if get(d, "priority") != nil {
			m.priority = number(d, "priority")
		} else if m.arbiter {
			m.priority = 0
		}
		if get(d, "votes") != nil {
			m.votes = int(number(d, "votes"))
		}
		all = append(all, m)
	}
	return all
}

// configReady says whether a router finds a primary of its config servers.
func (s *server) configReady() bool {
	name, _, _ := strings.Cut(s.args["configdb"], "/")
	ready := false
	check(s.change(func(st *state) error {
		rs := st.Sets[name]
		ready = rs != nil && rs.Primary != ""
		return nil
	}))
	return ready
}
