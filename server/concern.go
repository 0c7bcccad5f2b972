package server

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The sources of a default write concern.
const (
	Implicit = "implicit"             // not set, so the release's rule applies
	Global   = "global"               // set by setDefaultRWConcern
	Legacy   = "getLastErrorDefaults" // settings of the replica set's configuration, before 5.0
)

// Concerns are the default write concern of a deployment.
type Concerns struct {
	W       string // "1", "2", …, "majority" or a tag; empty if unknown
	Journal *bool  // j of the default, nil if the default does not have it
	Source  string // one of the constants, empty if W is unknown
	// MajorityJournal is writeConcernMajorityJournalDefault of the set: w: majority waits for journals of a majority. It
	// is nil if unknown: through a router, or without authorization.
	MajorityJournal *bool
	Problem         string // why W is unknown
}

// QueryConcerns queries the default concerns. A standalone always has w:1. A member of a shard refuses the query; use a
// router. Without an answer W is unknown, because a default may be set.
func QueryConcerns(ctx context.Context, c Commander, id Identity) Concerns {
	if IgnoresConcerns(id.Kind) {
		return Concerns{Problem: "a gateway ignores write concerns; the durability of a write depends on the database behind it"}
	}
	if id.Topology() == "standalone" {
		return readConcerns(nil, id, Config{})
	}
	config, _ := queryConfig(ctx, c, id) // many users are not authorized; then MajorityJournal is unknown
	if id.Version.Known() && !id.Version.AtLeast(4, 4) {
		return readConcerns(nil, id, config) // without setDefaultRWConcern
	}
	reply, err := query(ctx, c, "getDefaultRWConcern")
	if err != nil {
		return Concerns{MajorityJournal: config.MajorityJournal, Problem: briefly(err)}
	}
	return readConcerns(reply, id, config)
}

// briefly is an error without the command that a server quotes in it.
func briefly(err error) string {
	text, _, _ := strings.Cut(err.Error(), " { ")
	return text
}

// readConcerns reads the answer to getDefaultRWConcern. Since 5.0 it includes the implicit default, except w:1 because
// of arbiters; in 4.4 it includes only an explicit default.
func readConcerns(reply bson.Raw, id Identity, config Config) Concerns {
	out := Concerns{MajorityJournal: config.MajorityJournal}
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

// implicit returns the implicit default. Before 5.0, and on a standalone, it is w:1. Since 5.0 it is majority, unless a
// set has arbiters and no more voting members with data than a majority (manual: "Implicit Default Write Concern"). A
// sharded cluster without an explicit default accepts no shard of that kind, so a router has majority.
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
