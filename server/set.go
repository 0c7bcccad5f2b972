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
	Raw      bson.Raw // the whole of it, to be changed and handed back
	Members  []ConfigMember
	Voting   int // members with a vote, arbiters too
	Arbiters int // of those
	// MajorityJournal is writeConcernMajorityJournalDefault, nil if it is not known.
	MajorityJournal *bool
	// LegacyW and LegacyJournal are settings.getLastErrorDefaults, which servers before 5.0 apply. LegacyW is empty
	// unless somebody changed it.
	LegacyW       string
	LegacyJournal *bool
}

// ConfigMember is one member as configured.
type ConfigMember struct {
	Host            string
	Priority        float64
	Votes           int
	Arbiter, Hidden bool
	DelaySeconds    float64
}

// Data counts the members that keep data.
func (c Config) Data() int {
	n := 0
	for _, m := range c.Members {
		if !m.Arbiter {
			n++
		}
	}
	return n
}

// AskConfig asks a member for the configuration of its set. A router and a standalone have none, which is no error.
func AskConfig(ctx context.Context, c Commander, id Identity) (Config, error) {
	if id.Hello.SetName == "" {
		return Config{}, nil
	}
	config, err := AskOwnConfig(ctx, c)
	if err != nil {
		return Config{}, named("configuration of the replica set (replSetGetConfig)", err)
	}
	return config, nil
}

// AskOwnConfig asks a server that is known to be a member for the configuration of its set. Others refuse.
func AskOwnConfig(ctx context.Context, c Commander) (Config, error) {
	reply, err := ask(ctx, c, "replSetGetConfig")
	if err != nil {
		return Config{}, err
	}
	return ReadConfig(reply), nil
}

// ReadConfig reads the answer to replSetGetConfig.
func ReadConfig(reply bson.Raw) Config {
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

// The states of members that are asked for by name (manual: "Replica Set Member States").
const (
	Primary   = "PRIMARY"
	Secondary = "SECONDARY"
	Arbiter   = "ARBITER"
	Startup2  = "STARTUP2" // it copies all data
)

// states are the states by their numbers. A member tells its own state as a number only.
var states = [...]string{"STARTUP", Primary, Secondary, "RECOVERING", "", Startup2, "UNKNOWN", Arbiter, "DOWN",
	"ROLLBACK", "REMOVED"}

// Set is a replica set as one of its members sees it.
type Set struct {
	Name      string
	Term      int64
	HasTerm   bool
	Now       time.Time // the clock of who answers
	State     string    // of who answers
	Committed OpTime    // the last operation that a majority has
	// Elected is when the term of a primary began, to the millisecond; told by the primary alone, since 4.2.1.
	Elected time.Time
	Copying bson.Raw // initialSyncStatus, which differs between releases; nil unless who answers copies all data
	Members []Member
}

// OpTime says where an entry of the oplog is.
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
	// Date is the time of its last operation, in whole seconds on most servers; the zero time if it is not said.
	Date       time.Time
	Elected    time.Time // to the second; of a primary
	Heartbeat  string    // what was wrong with its last heartbeat
	SyncSource string
}

// AskSet asks a member for its set (replSetGetStatus). A server that is no member refuses.
func AskSet(ctx context.Context, c Commander) (Set, error) {
	reply, err := ask(ctx, c, "replSetGetStatus")
	if err != nil {
		return Set{}, err
	}
	return ReadSet(reply), nil
}

// ReadSet reads the answer to replSetGetStatus.
func ReadSet(reply bson.Raw) Set {
	s := Set{
		Name: Text(reply, "set"), Now: date(reply, "date"),
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
			Heartbeat: Text(d, "lastHeartbeatMessage"), SyncSource: Text(d, "syncSourceHost")}
		if health, told := Number(d, "health"); told {
			m.Healthy = health > 0
		}
		s.Members = append(s.Members, m)
	}
	return s
}

// date is the time at a path of an answer, the zero time if there is none.
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

// Member is the member of a name, nil if there is none.
func (s Set) Member(name string) *Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// Primary is the name of the primary, "" if there is none. If two call themselves primary it is the one that is newer.
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

// Lag is how far the slowest healthy secondary is behind the primary: the difference between the times of their last
// operations. known is false without a primary or without secondaries.
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
