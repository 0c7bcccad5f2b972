package server

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Config is the configuration of a replica set, as far as verdicts depend on it.
type Config struct {
	Name     string
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
	reply, err := ask(ctx, c, "replSetGetConfig")
	if err != nil {
		return Config{}, named("configuration of the replica set (replSetGetConfig)", err)
	}
	return ReadConfig(reply), nil
}

// ReadConfig reads the answer to replSetGetConfig.
func ReadConfig(reply bson.Raw) Config {
	config := Config{Name: Text(reply, "config", "_id"), MajorityJournal: Flag(reply, "config", "writeConcernMajorityJournalDefault")}
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

// Set is a replica set as one of its members sees it.
type Set struct {
	Name    string
	Term    float64
	HasTerm bool
	Members []Member
}

// Member is one member of a set.
type Member struct {
	Name    string // host:port
	State   string // "PRIMARY", "SECONDARY", "ARBITER", …
	Healthy bool
	Self    bool
	// Optime is the time of its last operation, in whole seconds on most servers; the zero time if it is not said.
	Optime     time.Time
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
	s := Set{Name: Text(reply, "set")}
	s.Term, s.HasTerm = Number(reply, "term")
	for _, v := range list(reply, "members") {
		d, ok := v.DocumentOK()
		if !ok {
			continue
		}
		m := Member{Name: Text(d, "name"), State: Text(d, "stateStr"), Healthy: true, Self: isTrue(Flag(d, "self")), SyncSource: Text(d, "syncSourceHost")}
		if health, told := Number(d, "health"); told {
			m.Healthy = health > 0
		}
		if ms, ok := lookup(d, "optimeDate").DateTimeOK(); ok {
			m.Optime = time.UnixMilli(ms)
		}
		s.Members = append(s.Members, m)
	}
	return s
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
		if m.State == "PRIMARY" && (!ok || m.Optime.After(found.Optime)) {
			found, ok = m, true
		}
	}
	return found, ok
}

// Lag is how far the slowest healthy secondary is behind the primary: the difference between the times of their last
// operations. known is false without a primary or without secondaries.
func (s Set) Lag() (lag time.Duration, known bool) {
	primary, ok := s.primary()
	if !ok || primary.Optime.IsZero() {
		return 0, false
	}
	for _, m := range s.Members {
		if m.State == "SECONDARY" && m.Healthy && !m.Optime.IsZero() {
			lag, known = max(lag, primary.Optime.Sub(m.Optime)), true
		}
	}
	return lag, known
}
