package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The kinds of servers, with [FerretDB].
const (
	Mongod = "mongod"
	Mongos = "mongos"
)

// VendorMongoDB is the vendor of MongoDB's own servers, in [Identity].
const VendorMongoDB = "MongoDB"

// Identity identifies a server.
type Identity struct {
	Kind   string // [Mongod], [Mongos] or [FerretDB]
	Vendor string // "MongoDB", "Percona Server for MongoDB", "FerretDB"
	// Version has MongoDB's numbers; for a gateway those of the emulated release. It is unknown without buildInfo.
	Version Version
	// Release is the vendor's release: "8.0.12", "4.4.6-8", "v2.7.0".
	Release string
	Hello   Hello
	Build   bson.Raw // the answer to buildInfo
}

// Identify queries the identity of a server. With an error it returns the known parts.
func Identify(ctx context.Context, c Commander) (Identity, error) {
	id, buildErr := QueryBuild(ctx, c)
	hello, helloErr := QueryHello(ctx, c, id.Version)
	if helloErr == nil {
		id.Hello = hello
		if hello.Router() && id.Kind != FerretDB {
			id.Kind = Mongos
		} else if id.Kind == "" {
			id.Kind = Mongod
		}
	}
	return id, errors.Join(named("version (buildInfo)", buildErr), named("role and topology (hello)", helloErr))
}

// QueryBuild queries vendor and version (buildInfo), which needs no authentication.
func QueryBuild(ctx context.Context, c Commander) (Identity, error) {
	var id Identity
	build, err := query(ctx, c, "buildInfo")
	if err == nil {
		id.readBuild(build)
	}
	return id, err
}

// readBuild reads buildInfo. Percona's server reports MongoDB's version, and its own in psmdbVersion.
func (id *Identity) readBuild(r bson.Raw) {
	text := Text(r, "version")
	id.Build, id.Kind, id.Vendor, id.Release = r, Mongod, VendorMongoDB, text
	id.Version, _ = ParseVersion(text) // unknown after an error
	if percona := Text(r, "psmdbVersion"); percona != "" {
		id.Vendor, id.Release = "Percona Server for MongoDB", percona
	}
	id.readGateway(r)
}

// Topology is "standalone", "replica set" or "sharded".
func (id Identity) Topology() string {
	switch {
	case id.Kind == Mongos || id.Hello.Router():
		return "sharded"
	case id.Hello.SetName != "":
		return "replica set"
	}
	return "standalone"
}

// Hello is the answer to hello (manual: "hello"; the driver's specification "Server Discovery and Monitoring" for
// Ghost, a member without a configuration).
type Hello struct {
	Writable  bool     `bson:"isWritablePrimary"`
	Master    bool     `bson:"ismaster"` // the same field of isMaster
	Secondary bool     `bson:"secondary"`
	Arbiter   bool     `bson:"arbiterOnly"`
	SetName   string   `bson:"setName"`
	Message   string   `bson:"msg"` // "isdbgrid" from a mongos
	Ghost     bool     `bson:"isreplicaset"`
	Info      string   `bson:"info"`
	Hosts     []string `bson:"hosts"`    // members that can become primary
	Passives  []string `bson:"passives"` // members with data and priority 0
	Arbiters  []string `bson:"arbiters"`
	// ElectionID grows with each election. If two members claim to be primary, the greater one is right.
	ElectionID bson.ObjectID `bson:"electionId"`
	// LastWrite is the last applied operation of a member with data.
	LastWrite struct {
		OpTime OpTime `bson:"opTime"`
	} `bson:"lastWrite"`

	LocalTime time.Time `bson:"localTime"` // clock of the server

	Raw bson.Raw `bson:"-"` // the whole answer
}

// helloCommand returns "hello" since 4.4.2, "isMaster" before.
func helloCommand(v Version) string {
	if v.Known() && v.Compare(Version{Major: 4, Minor: 4, Patch: 2}) < 0 {
		return "isMaster"
	}
	return "hello"
}

// QueryHello runs hello on a server of a release, which needs no authentication. For an unknown release it tries both
// commands.
func QueryHello(ctx context.Context, c Commander, v Version) (Hello, error) {
	raw, err := query(ctx, c, helloCommand(v))
	if err != nil && !v.Known() {
		older, again := query(ctx, c, "isMaster")
		if again != nil {
			return Hello{}, err
		}
		raw, err = older, nil
	}
	if err != nil {
		return Hello{}, err
	}
	return readHello(raw)
}

// readHello reads the answer to hello or isMaster.
func readHello(raw bson.Raw) (Hello, error) {
	var h Hello
	if err := bson.Unmarshal(raw, &h); err != nil {
		return Hello{}, err
	}
	h.Writable = h.Writable || h.Master
	h.Raw = raw
	return h, nil
}

// Router reports whether the server is a mongos.
func (h Hello) Router() bool { return h.Message == "isdbgrid" }

// Data returns the members with data that are not hidden, sorted.
func (h Hello) Data() []string {
	all := slices.Concat(h.Hosts, h.Passives)
	slices.Sort(all)
	return slices.Compact(all)
}

// Members returns all members that are not hidden, including arbiters, sorted.
func (h Hello) Members() []string {
	all := slices.Concat(h.Hosts, h.Passives, h.Arbiters)
	slices.Sort(all)
	return slices.Compact(all)
}

// Words says in words what a server is.
func (h Hello) Words() string {
	switch {
	case h.Router():
		return "a router"
	case h.SetName == "" && h.Ghost:
		return "not in a set yet"
	case h.Writable && h.SetName != "":
		return "primary"
	case h.Writable:
		return "a standalone"
	case h.Secondary:
		return "secondary"
	case h.Arbiter:
		return "arbiter"
	}
	return "neither primary nor secondary"
}

// Role is the role of a server that reports its own state: primary, secondary, arbiter, router, standalone or unknown.
// A config server has the role in its set.
func (h Hello) Role() string {
	switch {
	case h.Router():
		return "router"
	case h.SetName == "" && !h.Ghost:
		return "standalone"
	case h.Writable || h.Master:
		return "primary"
	case h.Secondary:
		return "secondary"
	case h.Arbiter:
		return "arbiter"
	}
	return "unknown"
}

// named says which question an error belongs to.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return &Unanswered{What: what, Err: err}
}

// Unanswered is a question that a server refused or does not know.
type Unanswered struct {
	What string // with the name of the command
	Err  error
}

// Refused lists the questions that an error of this package joins.
func Refused(err error) []*Unanswered {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Unanswered
		for _, e := range joined.Unwrap() {
			all = append(all, Refused(e)...)
		}
		return all
	}
	var one *Unanswered
	if errors.As(err, &one) {
		return []*Unanswered{one}
	}
	return nil
}

func (u *Unanswered) Error() string { return u.What + " could not be read: " + u.Err.Error() }

func (u *Unanswered) Unwrap() error { return u.Err }
