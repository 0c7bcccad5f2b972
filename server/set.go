package server

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Config is the configuration of a replica set, as far as verdicts depend on it.
type Config struct {
	Name     string
	Version  int64
	Raw      bson.Raw // complete, for replSetReconfig
	Members  []ConfigMember
	Voting   int // members with a vote, arbiters too
	Arbiters int // of those
	// MajorityJournal is writeConcernMajorityJournalDefault, nil if unknown.
	MajorityJournal *bool
	// LegacyW and LegacyJournal are settings.getLastErrorDefaults, which servers before 5.0 apply. LegacyW is empty for
	// the default.
	LegacyW       string
	LegacyJournal *bool
}

// ConfigMember is the configuration of one member.
type ConfigMember struct {
	Host            string
	Priority        float64
	Votes           int
	Arbiter, Hidden bool
	DelaySeconds    float64
}

// Data returns the number of members with data.
func (c Config) Data() int {
	n := 0
	for _, m := range c.Members {
		if !m.Arbiter {
			n++
		}
	}
	return n
}

// queryConfig queries the configuration of a member's set. For a router or a standalone it returns an empty one.
func queryConfig(ctx context.Context, c Commander, id Identity) (Config, error) {
	if id.Hello.SetName == "" {
		return Config{}, nil
	}
	config, err := QueryOwnConfig(ctx, c)
	if err != nil {
		return Config{}, named("configuration of the replica set (replSetGetConfig)", err)
	}
	return config, nil
}

// QueryOwnConfig queries the configuration of a member's set. Other servers return an error.
func QueryOwnConfig(ctx context.Context, c Commander) (Config, error) {
	reply, err := query(ctx, c, "replSetGetConfig")
	if err != nil {
		return Config{}, err
	}
	return readConfig(reply), nil
}

// readConfig reads the answer to replSetGetConfig.
func readConfig(reply bson.Raw) Config {
	config := Config{Name: Text(reply, "config", "_id"), Version: whole(reply, "config", "version"),
		MajorityJournal: Flag(reply, "config", "writeConcernMajorityJournalDefault")}
	config.Raw, _ = lookup(reply, "config").DocumentOK()
	for _, v := range list(reply, "config", "members") {
		d, ok := v.DocumentOK()
		if !ok {
			continue
		}
		m := ConfigMember{Host: Text(d, "host"), Priority: 1, Votes: 1}
		if x, ok := Number(d, "priority"); ok {
			m.Priority = x
		}
		if x, ok := Number(d, "votes"); ok {
			m.Votes = int(x)
		}
		if x, ok := Number(d, "secondaryDelaySecs"); ok { // since 5.0
			m.DelaySeconds = x
		} else if x, ok := Number(d, "slaveDelay"); ok {
			m.DelaySeconds = x
		}
		m.Arbiter, m.Hidden = isTrue(Flag(d, "arbiterOnly")), isTrue(Flag(d, "hidden"))
		if m.Votes > 0 {
			config.Voting++
			if m.Arbiter {
				config.Arbiters++
			}
		}
		config.Members = append(config.Members, m)
	}
	legacy, _ := lookup(reply, "config", "settings", "getLastErrorDefaults").DocumentOK()
	if w := lookup(legacy, "w"); w.Type != 0 && (plain(w) != "1" || isTrue(Flag(legacy, "j"))) {
		config.LegacyW, config.LegacyJournal = plain(w), Flag(legacy, "j")
	}
	return config
}

func isTrue(b *bool) bool { return b != nil && *b }

// States of members (manual: "Replica Set Member States").
const (
	Primary   = "PRIMARY"
	Secondary = "SECONDARY"
	Arbiter   = "ARBITER"
	Startup2  = "STARTUP2" // initial sync
)

// states are the states by their numbers. A member reports its own state only as a number.
var states = [...]string{"STARTUP", Primary, Secondary, "RECOVERING", "", Startup2, "UNKNOWN", Arbiter, "DOWN",
	"ROLLBACK", "REMOVED"}

// Set is the status of a replica set, from one of its members.
type Set struct {
	Term      int64
	HasTerm   bool
	Now       time.Time // clock of the answering member
	State     string    // of the answering member
	Committed OpTime    // majority commit point
	// Elected is the start of the primary's term, to the millisecond; only from the primary, since 4.2.1.
	Elected time.Time
	Copying bson.Raw // initialSyncStatus, which differs between releases; nil without an initial sync
	Members []Member
}

// OpTime is the position of an oplog entry.
type OpTime struct {
	TS   bson.Timestamp `bson:"ts"`
	Term int64          `bson:"t"`
}

// Member is one member of a set.
type Member struct {
	Name    string // host:port
	State   string // [Primary], [Secondary], [Arbiter], …
	Healthy bool
	Self    bool
	Optime  OpTime
	// Date is the time of its last operation, in whole seconds on most servers; zero if unknown.
	Date      time.Time
	Elected   time.Time // of a primary, to the second
	Heartbeat string    // error of its last heartbeat
}

// QuerySet queries the status of a member's set (replSetGetStatus). Other servers return an error.
func QuerySet(ctx context.Context, c Commander) (Set, error) {
	reply, err := query(ctx, c, "replSetGetStatus")
	if err != nil {
		return Set{}, err
	}
	return ReadSet(reply), nil
}

// ReadSet reads the answer to replSetGetStatus.
func ReadSet(reply bson.Raw) Set {
	s := Set{
		Now:       date(reply, "date"),
		Committed: opTime(reply, "optimes", "lastCommittedOpTime"),
		Elected:   date(reply, "electionCandidateMetrics", "newTermStartDate"),
	}
	s.Term, s.HasTerm = lookup(reply, "term").AsInt64OK()
	if n, told := lookup(reply, "myState").AsInt64OK(); told && n >= 0 && n < int64(len(states)) {
		s.State = states[n]
	}
	s.Copying, _ = lookup(reply, "initialSyncStatus").DocumentOK()
	for _, v := range list(reply, "members") {
		d, ok := v.DocumentOK()
		if !ok {
			continue
		}
		m := Member{Name: Text(d, "name"), State: Text(d, "stateStr"), Healthy: true, Self: isTrue(Flag(d, "self")),
			Optime: opTime(d, "optime"), Date: date(d, "optimeDate"), Elected: date(d, "electionDate"),
			Heartbeat: Text(d, "lastHeartbeatMessage")}
		if health, told := Number(d, "health"); told {
			m.Healthy = health > 0
		}
		s.Members = append(s.Members, m)
	}
	return s
}

func date(d bson.Raw, path ...string) time.Time {
	if ms, ok := lookup(d, path...).DateTimeOK(); ok {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

func opTime(d bson.Raw, path ...string) (at OpTime) {
	doc, _ := lookup(d, path...).DocumentOK()
	at.TS.T, at.TS.I, _ = lookup(doc, "ts").TimestampOK()
	at.Term, _ = lookup(doc, "t").AsInt64OK()
	return at
}

// Member returns the member with a name, nil if there is none.
func (s Set) Member(name string) *Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// Primary returns the name of the primary, "" if there is none. If two members claim to be primary, it is the one with
// the later operation.
func (s Set) Primary() string {
	m, _ := s.primary()
	return m.Name
}

func (s Set) primary() (Member, bool) {
	var found Member
	ok := false
	for _, m := range s.Members {
		if m.State == Primary && (!ok || m.Date.After(found.Date)) {
			found, ok = m, true
		}
	}
	return found, ok
}

// Lag returns the largest replication lag of the healthy secondaries: the difference between the times of the last
// operations of primary and secondary. known is false without a primary or without secondaries.
func (s Set) Lag() (lag time.Duration, known bool) {
	primary, ok := s.primary()
	if !ok || primary.Date.IsZero() {
		return 0, false
	}
	for _, m := range s.Members {
		if m.State == Secondary && m.Healthy && !m.Date.IsZero() {
			lag, known = max(lag, primary.Date.Sub(m.Date)), true
		}
	}
	return lag, known
}
