package topology

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// secured is a set with an arbiter, or a sharded cluster, that asks for a password, and speaks TLS only if tls.
func secured(kind string, tls bool) func(*spec.Lab) {
	return func(s *spec.Lab) {
		s.Engine.TLS, s.Engine.Authentication, s.Engine.Cache = tls, true, 256<<20
		s.Topology = spec.Topology{Kind: kind, Members: 2, Arbiter: true, Election: "elect-fast"}
		if kind == spec.LabSharded {
			s.Topology = spec.Topology{Kind: kind, Shards: 2, Members: 1, ConfigServers: 1, Routers: 1, Election: "elect-fast"}
		}
	}
}

// Clients need the lab's user and, where the server has TLS, TLS and the lab's authority; members, config servers,
// arbiters and routers reach each other by them, and so do members that come back.
func TestMongoTLS(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"stand-in": enginetest.StandinMongo(t, "8.0.12")}
	if binary, ok := enginetest.RealMongo(t); ok {
		programs["mongod"] = binary
	}
	for name, binary := range programs {
		tls := enginetest.HasTLS(t, binary)
		for _, kind := range []string{spec.LabReplicaSet, spec.LabSharded} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				l := newMongoLab(t, host.Plain, binary, secured(kind, tls))
				ctx := start(t, l)
				uri := l.URIs()[""]
				eventually(t, "by the lab's address", func() error { return insertAt(ctx, uri, testLimit) })
				u, err := url.Parse(uri)
				if err != nil {
					t.Fatal(err)
				}
				changes := map[string]func(u *url.URL, q url.Values){"without a user": func(u *url.URL, _ url.Values) { u.User = nil }}
				if tls {
					changes["without TLS"] = func(_ *url.URL, q url.Values) { q.Del("tls"); q.Del("tlsCAFile") }
					changes["without the authority"] = func(_ *url.URL, q url.Values) { q.Del("tlsCAFile") }
				}
				for what, change := range changes {
					other, query := *u, u.Query()
					change(&other, query)
					other.RawQuery = query.Encode()
					if err := insertAt(ctx, other.String(), 2*time.Second); err == nil {
						t.Errorf("%s a write is accepted", what)
					}
				}
				eventually(t, "not all roles are known", func() error {
					for _, m := range l.Describe(ctx, Settings) {
						if m.State != "running" || m.Role == "unknown" {
							return fmt.Errorf("%s is %s, %s: %s", m.Name, m.State, m.Role, m.Problem)
						}
					}
					return nil
				})
				if kind == spec.LabReplicaSet {
					killAndReturn(t, ctx, l)
				}
			})
		}
	}
}

// insertAt inserts one document through a server that is found within a time.
func insertAt(ctx context.Context, uri string, within time.Duration) error {
	c, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(within).SetRetryWrites(false))
	if err != nil {
		return err
	}
	defer func() { _ = c.Disconnect(ctx) }()
	_, err = c.Database("plimsoll").Collection("usertable").InsertOne(ctx, bson.M{"_id": bson.NewObjectID().Hex()})
	return err
}

func killAndReturn(t *testing.T, ctx context.Context, l *mongoLab) {
	t.Helper()
	primary := primaryOf(t, ctx, l, "")
	n, _ := l.Node(primary)
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := l.Return(ctx, primary); err != nil {
		t.Errorf("a member that was killed does not come back: %v", err)
	}
}

// The key of the authority is nowhere, and only the owner reads the others.
func TestMongoCertificateFiles(t *testing.T) {
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12"), secured(spec.LabReplicaSet, true))
	dir := l.site.Dir + "/secrets/tls"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if fi, err := e.Info(); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), fi.Mode())
		}
	}
	if want := []string{"ca.pem", "host-host1.pem", "host-host2.pem", "host-host3.pem"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	if text, err := os.ReadFile(dir + "/ca.pem"); err != nil || strings.Contains(string(text), "PRIVATE") {
		t.Errorf("the authority's file has a key, error %v", err)
	}
}

// What the servers of this machine do not have is refused before anything is made.
func TestMongoCheck(t *testing.T) {
	asked := func(binary string, change func(*spec.Lab)) spec.Lab {
		s := spec.Lab{Name: "test", Engine: spec.Engine{Name: spec.LabMongod, Binary: binary},
			Topology: spec.Topology{Kind: spec.LabSharded}}
		change(&s)
		s.Defaults()
		return s
	}
	server := func(parameters map[string]string, args ...string) *spec.Server {
		return &spec.Server{Parameters: parameters, Args: args}
	}
	older, now, bare := enginetest.StandinMongo(t, "6.0.25"), enginetest.StandinMongo(t, "8.0.12"), enginetest.StandinMongo(t, "4.4.6", "no-tls")
	renamed := map[string]string{"wiredTigerConcurrentReadTransactions": "64"}
	for _, c := range []struct {
		name, binary, want string
		change             func(*spec.Lab)
	}{
		{"TLS", now, "", func(s *spec.Lab) { s.Engine.TLS = true }},
		{"no TLS", bare, "engine.tls: " + bare + " (release 4.4.6) was built without TLS", func(s *spec.Lab) { s.Engine.TLS = true }},
		{"known parameter", older, "", func(s *spec.Lab) { s.Engine.Parameters = renamed }},
		{"renamed parameter", now, "engine.parameters.wiredTigerConcurrentReadTransactions: in release 8.0.12 this parameter is named storageEngineConcurrentReadTransactions",
			func(s *spec.Lab) { s.Engine.Parameters = renamed }},
		{"unknown parameter", now, "engine.parameters: release 8.0.12 refuses it: Unknown --setParameter 'unknownThing'",
			func(s *spec.Lab) { s.Engine.Parameters = map[string]string{"unknownThing": "1"} }},
		{"unknown parameter of a router", now, "engine.router.parameters: release 8.0.12 refuses it",
			func(s *spec.Lab) { s.Engine.Router = server(map[string]string{"unknownThing": "1"}) }},
		{"unknown argument of a config server", now, "engine.config.args: release 8.0.12 refuses it: unrecognised option '--nosuch'",
			func(s *spec.Lab) { s.Engine.ConfigServer = server(nil, "--nosuch") }},
		{"another release", now, "engine.version requires 7.0", func(s *spec.Lab) { s.Engine.Version = "7.0" }},
	} {
		err := Check(t.Context(), t.TempDir(), asked(c.binary, c.change))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	// A release that is named is enough to know its names.
	s := asked("", func(s *spec.Lab) { s.Engine.Version, s.Engine.Parameters = "7.0", renamed })
	if _, err := Plan(s); err == nil || !strings.Contains(err.Error(), "this parameter is named storageEngineConcurrentReadTransactions") {
		t.Errorf("by the release that is asked for: %v", err)
	}
}

// Each role has its own parameters and arguments.
func TestMongoRoles(t *testing.T) {
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12"), func(s *spec.Lab) {
		s.Topology = spec.Topology{Kind: spec.LabSharded, Shards: 1, Members: 2, Arbiter: true, ConfigServers: 1, Routers: 1,
			Election: "elect-fast"}
		s.Engine.Parameters, s.Engine.Args = map[string]string{"syncdelay": "30"}, []string{"--oplogSize", "1000"}
		s.Engine.ConfigServer = &spec.Server{Parameters: map[string]string{"syncdelay": "31"}}
		s.Engine.Arbiter = &spec.Server{Parameters: map[string]string{"syncdelay": "32"}}
		s.Engine.Router = &spec.Server{Parameters: map[string]string{"maxTimeMSForHedgedReads": "33"}, Args: []string{"--quiet"}}
	})
	start(t, l)
	for member, want := range map[string][]string{
		"shard1-1": {"syncdelay=30", "--oplogSize"}, "shard1-arbiter": {"syncdelay=32"}, "config-1": {"syncdelay=31"},
		"router-1": {"maxTimeMSForHedgedReads=33", "--quiet"},
	} {
		text, err := os.ReadFile(l.site.Dir + "/members/" + member + "/conversation.ndjson")
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("%s was started without %s: %s", member, part, line)
			}
		}
		if strings.Count(line, "syncdelay=")+strings.Count(line, "maxTimeMS") != 1 {
			t.Errorf("%s has parameters of other roles: %s", member, line)
		}
	}
}
