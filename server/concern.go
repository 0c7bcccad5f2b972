package server

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Where a default write concern comes from.
const (
	// Implicit: nobody set one, so the release's rule applies.
	Implicit = "implicit"
	// Global: somebody ran setDefaultRWConcern.
	Global = "global"
	// Legacy: settings.getLastErrorDefaults of the replica set's configuration, read before 5.0.
	Legacy = "getLastErrorDefaults"
)

// Concerns are what a deployment applies where a client asks for no concern.
type Concerns struct {
	// W is "1", "2", …, "majority" or a tag; empty if it is not known.
	W string
	// Journal is j of the default, nil if the default does not say. [Concerns.Journaled] says what follows.
	Journal *bool
	// Source is one of the constants, empty if W is not known.
	Source string
	// Read is the default read concern level, "local" unless somebody set one.
	Read string
	// MajorityJournal is writeConcernMajorityJournalDefault of the set: majority means journals of a majority. It is nil
	// where that is not known: through a router, or without the right to ask.
	MajorityJournal *bool
	// Problem is why W is not known.
	Problem string
}

// Journaled says whether a write of the default concern waits for a journal on disk; known is false where that cannot
// be told. A write of w:1 without j is acknowledged from memory (manual: "Write Concern").
func (c Concerns) Journaled() (journaled, known bool) {
	switch {
	case c.Journal != nil && *c.Journal:
		return true, true
	case c.W == "majority" && c.Journal == nil:
		if c.MajorityJournal == nil {
			return false, false
		}
		return *c.MajorityJournal, true
	case c.W == "":
		return false, false
	}
	return false, true
}

// AskConcerns asks for the concerns that apply where a client asks for none. A standalone has none to ask for: w:1. A
// member of a shard refuses the question by design: ask a router. Where the question is not answered, W is not known,
// because somebody may have set a default.
func AskConcerns(ctx context.Context, c Commander, id Identity) Concerns {
	if id.Kind == FerretDB {
		return Concerns{Problem: "a gateway ignores write concerns; a write is as durable as the database behind it makes it"}
	}
	if id.Topology() == "standalone" {
		return ReadConcerns(nil, id, Config{})
	}
	config, _ := AskConfig(ctx, c, id) // refused to many users; what it would say is left open then
	if id.Version.Known() && !id.Version.AtLeast(4, 4) {
		return ReadConcerns(nil, id, config) // nobody can set a default there
	}
	reply, err := ask(ctx, c, "getDefaultRWConcern")
	if err != nil {
		return Concerns{MajorityJournal: config.MajorityJournal, Problem: err.Error()}
	}
	return ReadConcerns(reply, id, config)
}

// ReadConcerns reads the answer to getDefaultRWConcern. Since 5.0 it names the implicit default, and leaves it out where
// that is w:1 because of arbiters; 4.4 leaves it out unless somebody set it.
func ReadConcerns(reply bson.Raw, id Identity, config Config) Concerns {
	out := Concerns{Read: "local", MajorityJournal: config.MajorityJournal}
	if level := Text(reply, "defaultReadConcern", "level"); level != "" {
		out.Read = level
	}
	if w := lookup(reply, "defaultWriteConcern", "w"); w.Type != 0 {
		out.W, out.Source = plain(w), Global
		if source := Text(reply, "defaultWriteConcernSource"); source != "" {
			out.Source = source
		}
		out.Journal = Flag(reply, "defaultWriteConcern", "j")
		return out
	}
	if !id.Version.AtLeast(5, 0) && config.LegacyW != "" {
		out.W, out.Journal, out.Source = config.LegacyW, config.LegacyJournal, Legacy
		return out
	}
	out.W, out.Source = implicit(id, config), Implicit
	return out
}

// implicit is the default where nobody set one. Before 5.0, and on a standalone, it is w:1. Since 5.0 it is majority, unless a set has arbiters
// and no more voting members with data than a majority (manual: "Implicit Default Write Concern"). A sharded cluster
// accepts no shard of that kind unless somebody set a default, so a router has majority.
func implicit(id Identity, config Config) string {
	if !id.Version.AtLeast(5, 0) || id.Topology() == "standalone" {
		return "1"
	}
	data, arbiters := len(id.Hello.Data()), len(id.Hello.Arbiters)
	if config.Voting > 0 {
		data, arbiters = config.Voting-config.Arbiters, config.Arbiters
	}
	if id.Kind != Mongos && arbiters > 0 && data <= (data+arbiters)/2+1 {
		return "1"
	}
	return "majority"
}
