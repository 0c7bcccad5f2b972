package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// answers answers commands by name with extended JSON, and remembers what it was asked. What it does not have it
// refuses.
type answers struct {
	replies map[string]string
	asked   []string
}

func (a *answers) RunCommand(_ context.Context, _ string, cmd []byte) ([]byte, error) {
	elements, err := bson.Raw(cmd).Elements()
	if err != nil {
		return nil, err
	}
	name := elements[0].Key()
	a.asked = append(a.asked, name)
	text, ok := a.replies[name]
	if !ok {
		return nil, errors.New("(Unauthorized) not authorized on admin to execute command")
	}
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
		return nil, err
	}
	return bson.Marshal(doc)
}

const (
	build44  = `{"version": "4.4.0", "psmdbVersion": "4.4.0-1", "ok": 1}`
	build50  = `{"version": "5.0.31", "modules": [], "ok": 1}`
	build60  = `{"version": "6.0.27", "ok": 1}`
	build70  = `{"version": "7.0.34", "ok": 1}`
	build80  = `{"version": "8.0.12", "ok": 1}`
	ferret   = `{"version": "7.0.77", "ferretdb": {"version": "v2.7.0"}, "ok": 1}`
	single   = `{"isWritablePrimary": true, "ok": 1}`
	router   = `{"isWritablePrimary": true, "msg": "isdbgrid", "ok": 1}`
	three    = `{"isWritablePrimary": true, "setName": "rs", "primary": "a:1", "me": "a:1", "hosts": ["a:1", "b:1"], "passives": ["c:1"], "ok": 1}`
	arbiter  = `{"isWritablePrimary": true, "setName": "rs", "primary": "a:1", "me": "a:1", "hosts": ["a:1", "b:1"], "arbiters": ["c:1"], "ok": 1}`
	majority = `{"defaultReadConcern": {"level": "local"}, "defaultWriteConcern": {"w": "majority", "wtimeout": 0}, "defaultWriteConcernSource": "implicit", "defaultReadConcernSource": "implicit", "ok": 1}`
	none50   = `{"defaultReadConcern": {"level": "local"}, "defaultWriteConcernSource": "implicit", "defaultReadConcernSource": "implicit", "ok": 1}`
	set2     = `{"defaultReadConcern": {"level": "majority"}, "defaultWriteConcern": {"w": 2, "j": true, "wtimeout": 0}, "defaultWriteConcernSource": "global", "ok": 1}`
	config   = `{"config": {"_id": "rs", "writeConcernMajorityJournalDefault": true, "members": [{"host": "a:1", "votes": 1}, {"host": "b:1", "votes": 1}, {"host": "c:1", "votes": 1, "priority": 0}], "settings": {"getLastErrorDefaults": {"w": 1, "wtimeout": 0}}}, "ok": 1}`
	configA  = `{"config": {"_id": "rs", "writeConcernMajorityJournalDefault": false, "members": [{"host": "a:1"}, {"host": "b:1"}, {"host": "c:1", "arbiterOnly": true}]}, "ok": 1}`
	configG  = `{"config": {"_id": "rs", "members": [{"host": "a:1"}], "settings": {"getLastErrorDefaults": {"w": 2, "wtimeout": 0}}}, "ok": 1}`
)

// What a client gets that asks for no concern, by release, set and what somebody set.
func TestConcerns(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		build, hello, defaults, config string
		want                           Concerns
	}{
		"standalone 4.4":       {build44, single, "", "", Concerns{W: "1", Source: Implicit}},
		"standalone 8.0":       {build80, single, "", "", Concerns{W: "1", Source: Implicit}},
		"set 4.4":              {build44, three, `{"ok": 1}`, config, Concerns{W: "1", Source: Implicit, MajorityJournal: &yes}},
		"set 4.4, old default": {build44, three, `{"ok": 1}`, configG, Concerns{W: "2", Source: Legacy}},
		"set 5.0, old default": {build50, three, majority, configG, Concerns{W: "majority", Source: Implicit}},
		"set 5.0": {build50, three, majority, config, Concerns{W: "majority", Source: Implicit,
			MajorityJournal: &yes}},
		"set 6.0 with arbiter":   {build60, arbiter, none50, configA, Concerns{W: "1", Source: Implicit, MajorityJournal: &no}},
		"arbiter, config hidden": {build60, arbiter, none50, "", Concerns{W: "1", Source: Implicit}},
		"set 7.0, changed": {build70, three, set2, config, Concerns{W: "2", Journal: &yes, Source: Global,
			MajorityJournal: &yes}},
		"router 4.4":  {build44, router, `{"ok": 1}`, "", Concerns{W: "1", Source: Implicit}},
		"router 8.0":  {build80, router, majority, "", Concerns{W: "majority", Source: Implicit}},
		"not allowed": {build80, three, "", config, Concerns{MajorityJournal: &yes, Problem: "(Unauthorized) not authorized on admin to execute command"}},
		"gateway":     {ferret, single, majority, "", Concerns{Problem: "a gateway ignores write concerns; the durability of a write depends on the database behind it"}},
	} {
		a := &answers{replies: map[string]string{"buildInfo": tc.build, "hello": tc.hello, "isMaster": tc.hello}}
		if tc.defaults != "" {
			a.replies["getDefaultRWConcern"] = tc.defaults
		}
		if tc.config != "" {
			a.replies["replSetGetConfig"] = tc.config
		}
		id, err := Identify(t.Context(), a)
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(tc.want, QueryConcerns(t.Context(), a, id)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if strings.HasPrefix(name, "standalone") && len(a.asked) > 2 {
			t.Errorf("%s was asked %v", name, a.asked)
		}
	}
}

func TestIdentify(t *testing.T) {
	for _, tc := range []struct {
		build, hello                    string
		kind, vendor, release, topology string
		data                            int
	}{
		{build44, three, Mongod, "Percona Server for MongoDB", "4.4.0-1", "replica set", 3},
		{build80, arbiter, Mongod, "MongoDB", "8.0.12", "replica set", 2},
		{build70, router, Mongos, "MongoDB", "7.0.34", "sharded", 0},
		{ferret, single, FerretDB, "FerretDB", "v2.7.0", "standalone", 0},
	} {
		id, err := Identify(t.Context(), &answers{replies: map[string]string{"buildInfo": tc.build, "hello": tc.hello, "isMaster": tc.hello}})
		if err != nil || id.Kind != tc.kind || id.Vendor != tc.vendor || id.Release != tc.release ||
			id.Topology() != tc.topology || len(id.Hello.Data()) != tc.data {
			t.Errorf("%+v, %v, want %+v", id, err, tc)
		}
	}
	// 4.4.0 and 4.4.1 know isMaster only; what is refused does not hide what is answered.
	id, err := Identify(t.Context(), &answers{replies: map[string]string{"isMaster": `{"ismaster": true, "setName": "rs", "ok": 1}`}})
	if refused := Refused(err); len(refused) != 1 || !strings.Contains(refused[0].What, "buildInfo") ||
		!id.Hello.Writable || id.Kind != Mongod || id.Version.Known() {
		t.Errorf("%+v, %v", id, err)
	}
	if got := Backend(raw(t, `{"ferretdb": {"postgresql": "PostgreSQL 18.6 (Debian) on x86_64", "documentdb": "1.0.0 gitref: x"}}`)); got != "PostgreSQL 18.6 with DocumentDB 1.0.0" {
		t.Error(got)
	}
}

func raw(t *testing.T, text string) bson.Raw {
	t.Helper()
	b, err := (&answers{replies: map[string]string{"x": text}}).RunCommand(t.Context(), "", mustCommand(t, "x"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustCommand(t *testing.T, name string) []byte {
	t.Helper()
	b, err := bson.Marshal(bson.D{{Key: name, Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParameterNames(t *testing.T) {
	for release, want := range map[string]string{
		"4.4.0": "wiredTigerConcurrentReadTransactions", "6.0.1": "wiredTigerConcurrentReadTransactions",
		"7.0.2": "storageEngineConcurrentReadTransactions", "8.0.1": "storageEngineConcurrentReadTransactions",
		"8.3.0": "executionControlConcurrentReadTransactions", "9.0.0": "executionControlConcurrentReadTransactions",
	} {
		v, err := ParseVersion(release)
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range []string{"wiredTigerConcurrentReadTransactions", "storageEngineConcurrentReadTransactions", "executionControlConcurrentReadTransactions"} {
			if got := ParameterName(asked, v); got != want {
				t.Errorf("%s of %s: %q", asked, release, got)
			}
		}
		for _, p := range Parameters(Identity{Kind: Mongod, Version: v}) {
			if p != ParameterName(p, v) || strings.HasPrefix(p, "Sharding") {
				t.Errorf("%s is asked for %s", release, p)
			}
		}
	}
	if got := ParameterName("notablescan", Version{Major: 8}); got != "notablescan" {
		t.Error(got)
	}
	if got := ParameterName("enableFlowControl", Version{Major: 4}); got != "" {
		t.Error(got)
	}
}

func TestReleases(t *testing.T) {
	day := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	if d := cmp.Diff([]string{"7.0", "8.0", "8.3"}, MaintainedSeries(day)); d != "" {
		t.Error(d)
	}
	for release, want := range map[string]struct {
		maintained, known bool
		repaired          string // "" if there is nothing to repair, "-" if it never will be
	}{
		"4.4.0": {false, true, "4.4.30"}, "4.2.8": {false, true, "-"}, "6.0.28": {false, true, ""}, "8.0.12": {true, true, "8.0.24"},
		"8.0.24": {true, true, ""}, "8.2.3": {false, true, "8.2.10"}, "8.1.2": {false, true, "-"}, "9.9.0": {false, false, ""}, "7.0.27": {true, true, "7.0.35"},
	} {
		v, err := ParseVersion(release)
		if err != nil {
			t.Fatal(err)
		}
		maintained, known := v.Maintained(day)
		repaired := ""
		if len(v.Advisories()) > 0 {
			repaired = "-"
			if fixed, ok := v.RepairedIn(); ok {
				repaired = fixed.Text
			}
		}
		if maintained != want.maintained || known != want.known || repaired != want.repaired {
			t.Errorf("%s: %v, %v, %q", release, maintained, known, repaired)
		}
	}
	for i, r := range releases {
		for _, date := range []string{r.Released, r.Until} {
			if _, err := time.Parse(time.DateOnly, date); err != nil {
				t.Error(r.Series, err)
			}
		}
		if r.Until <= r.Released || i > 0 && r.Series <= releases[i-1].Series {
			t.Errorf("%+v", r)
		}
	}
}

func TestSet(t *testing.T) {
	s := ReadSet(raw(t, `{"set": "rs", "term": {"$numberLong": "5"}, "members": [
		{"name": "a:1", "stateStr": "PRIMARY", "health": 1, "self": true, "optimeDate": {"$date": "2026-11-23T10:00:09Z"}},
		{"name": "b:1", "stateStr": "SECONDARY", "health": 1, "optimeDate": {"$date": "2026-11-23T10:00:05Z"}},
		{"name": "c:1", "stateStr": "SECONDARY", "health": 0, "optimeDate": {"$date": "2026-11-23T09:00:00Z"}},
		{"name": "d:1", "stateStr": "ARBITER", "health": 1}], "ok": 1}`))
	lag, known := s.Lag()
	if s.Primary() != "a:1" || lag != 4*time.Second || !known || !s.HasTerm || s.Term != 5 || len(s.Members) != 4 {
		t.Errorf("%+v: %v, %v", s, lag, known)
	}
	if _, known := ReadSet(nil).Lag(); known {
		t.Error("a set that nobody described has a lag")
	}
}

// What a lab asks a member for while it waits.
func TestSetOfAMember(t *testing.T) {
	s := ReadSet(raw(t, `{"set": "rs", "myState": 5, "date": {"$date": "2026-11-23T10:00:09Z"}, "initialSyncStatus": {"appliedOps": 3},
		"optimes": {"lastCommittedOpTime": {"ts": {"$timestamp": {"t": 7, "i": 2}}, "t": {"$numberLong": "4"}}},
		"electionCandidateMetrics": {"newTermStartDate": {"$date": "2026-11-23T10:00:01.250Z"}}, "members": [
		{"name": "a:1", "stateStr": "SECONDARY", "health": 0, "lastHeartbeatMessage": "no route", "optime": {"ts": {"$timestamp": {"t": 6, "i": 1}}, "t": 3},
			"electionDate": {"$date": "2026-11-23T10:00:01Z"}}], "ok": 1}`))
	if s.State != Startup2 || s.Now.Unix()%60 != 9 || s.Committed != (OpTime{bson.Timestamp{T: 7, I: 2}, 4}) ||
		s.Elected.UnixMilli()%1000 != 250 {
		t.Errorf("%+v", s)
	}
	if n, ok := Number(s.Copying, "appliedOps"); !ok || n != 3 {
		t.Errorf("it copies %v", s.Copying)
	}
	m := s.Member("a:1")
	if m == nil || m.Healthy || m.Optime != (OpTime{bson.Timestamp{T: 6, I: 1}, 3}) || m.Heartbeat != "no route" ||
		m.Elected.Unix()%60 != 1 {
		t.Errorf("%+v", m)
	}
	if s.Member("b:1") != nil {
		t.Error("a member that is none")
	}
}

func TestShards(t *testing.T) {
	a := &answers{replies: map[string]string{"listShards": `{"shards": [{"_id": "s1", "host": "rs1/a:1,b:1"}, {"_id": "s2", "host": "c:1"}, 7], "ok": 1}`}}
	got, err := QueryShards(t.Context(), a)
	want := []Shard{{"s1", "rs1", []string{"a:1", "b:1"}}, {"s2", "s2", []string{"c:1"}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestOwnConfig(t *testing.T) {
	a := &answers{replies: map[string]string{"replSetGetConfig": `{"config": {"_id": "rs", "version": 7, "members": [{"_id": 0, "host": "a:1", "priority": 0.5}]}, "ok": 1}`}}
	config, err := QueryOwnConfig(t.Context(), a)
	if err != nil || config.Name != "rs" || config.Version != 7 || len(config.Members) != 1 ||
		config.Members[0].Priority != 0.5 || Text(config.Raw, "_id") != "rs" {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestSettings(t *testing.T) {
	a := &answers{replies: map[string]string{"buildInfo": build80, "hello": arbiter, "replSetGetConfig": configA, "getDefaultRWConcern": none50,
		"getCmdLineOpts": `{"parsed": {"storage": {"dbPath": "/d"}, "security": {"keyFile": "/secret"}}, "ok": 1}`,
		"getParameter":   `{"storageEngineConcurrentReadTransactions": 0, "featureCompatibilityVersion": {"version": "8.0"}, "ok": 1}`,
		"serverStatus":   `{"storageEngine": {"name": "wiredTiger"}, "wiredTiger": {"cache": {"maximum bytes configured": 256}}, "ok": 1}`}}
	id, err := Identify(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Settings(t.Context(), a, id)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"storage.dbPath": "/d", "parameter storageEngineConcurrentReadTransactions": "0",
		"parameter featureCompatibilityVersion.version": "8.0", "defaultWriteConcern.w": "1", "defaultWriteConcernSource": "implicit",
		"replica-set.members.2.arbiterOnly": "true", "replica-set.members.0.votes": "1", "replica-set.members.0.host": "", "storage engine": "wiredTiger", "wiredTiger cache bytes": "256", "security.keyFile": ""} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	delete(a.replies, "getCmdLineOpts")
	got, err = Settings(t.Context(), a, id)
	var refused *Unanswered
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "getCmdLineOpts") || got["storage engine"] == "" {
		t.Errorf("%v, %v", got, err)
	}
}

// Whatever a server answers, nothing panics.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{build44, ferret, arbiter, set2, configG} {
		var doc bson.D
		if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
			f.Fatal(err)
		}
		b, err := bson.Marshal(doc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		c := CommandFunc(func(context.Context, string, []byte) ([]byte, error) { return reply, nil })
		id, _ := Identify(t.Context(), c)
		_ = QueryConcerns(t.Context(), c, id)
		_, _ = Settings(t.Context(), c, id)
		if s, err := QuerySet(t.Context(), c); err == nil {
			_, _ = s.Lag()
		}
	})
}
