package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/disk/doctor"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
)

// serverPatience is how long the doctor waits for a server.
const serverPatience = 10 * time.Second

// questioner asks a server and remembers what it refused.
type questioner struct {
	ctx     context.Context
	client  *driver.Client
	refused []string
}

// ask sends a command to the database admin; the answer is empty where the server refuses or does not know it.
func (q *questioner) ask(command string, value any) bson.Raw {
	reply, err := q.client.Database("admin").RunCommand(q.ctx, bson.D{{Key: command, Value: value}}).Raw()
	if err != nil {
		q.refused = append(q.refused, command)
		return bson.Raw{}
	}
	return reply
}

// addressError is a mistake in the address of a server.
func addressError(uri string, err error) error {
	text := fmt.Sprintf("cannot use the address %s: %s", store.Redact(uri), store.OneLine(err.Error()))
	if name, ok := record.LabOf(uri); ok {
		text += fmt.Sprintf("; 'plimsoll lab connect %s' says the address of the lab", name)
	}
	return usageError("%s", text)
}

// askServer asks a server for what the doctor judges. It sends read-only commands.
func askServer(ctx context.Context, uri string) (*doctor.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	o := options.Client().ApplyURI(uri).SetAppName("plimsoll doctor").SetServerSelectionTimeout(serverPatience)
	client, err := driver.Connect(o)
	if err != nil {
		return nil, addressError(uri, err)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	q := &questioner{ctx: ctx, client: client}
	build, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Raw()
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %s; check host, port, user and password", store.Redact(uri), store.OneLine(err.Error()))
	}
	s := &doctor.Server{Version: textOf(build, "version"), Local: local(o.Hosts)}
	if strings.Contains(s.Version, "-") { // 8.0.4-1 of Percona Server
		s.Version, _, _ = strings.Cut(s.Version, "-")
	}
	status := q.ask("serverStatus", 1)
	s.Engine = textOf(status, "storageEngine", "name")
	s.Cache = wholeOf(status, "wiredTiger", "cache", "maximum bytes configured")
	if _, err := status.LookupErr("wiredTiger", "log"); err == nil {
		on := wholeOf(status, "wiredTiger", "log", "log files manually zero-filled")+wholeOf(status, "wiredTiger", "log", "maximum log file size") > 0
		s.Journal = &on
	}
	s.Data = wholeOf(q.ask("listDatabases", 1), "totalSize")
	if gateway(s, build, status); s.Gateway == "" {
		q.concern(s)
	}
	if q.replicaSet(s); !s.Router { // a router has none of its own
		s.FCV = textOf(q.askFCV(), "featureCompatibilityVersion", "version")
	}
	if len(q.refused) > 0 {
		s.Problem = "not answered: " + strings.Join(q.refused, ", ")
	}
	return s, nil
}

// gateway recognises FerretDB, which says who it is.
func gateway(s *doctor.Server, build, status bson.Raw) {
	version := textOf(build, "ferretdb", "version")
	if version == "" {
		return
	}
	s.Gateway = "FerretDB " + version
	// "PostgreSQL 18.6 (Debian 18.6-3) on x86_64-pc-linux-gnu, compiled by …" and "1.0.0 gitref: …"
	if words := strings.Fields(textOf(status, "ferretdb", "postgresql")); len(words) > 1 {
		s.Backend = words[0] + " " + words[1]
	}
	if words := strings.Fields(textOf(status, "ferretdb", "documentdb")); len(words) > 0 && s.Backend != "" {
		s.Backend += " with DocumentDB " + words[0]
	}
}

// concern asks for the default write concern. Before 5.0 a server that was told none has 1 and does not say so.
func (q *questioner) concern(s *doctor.Server) {
	reply := q.ask("getDefaultRWConcern", 1)
	s.DefaultW = valueOf(reply, "defaultWriteConcern", "w")
	if s.DefaultW == "" && len(reply) > 0 && strings.HasPrefix(s.Version, "4.") {
		s.DefaultW = "1"
	}
}

func (q *questioner) askFCV() bson.Raw {
	reply, err := q.client.Database("admin").RunCommand(q.ctx, bson.D{{Key: "getParameter", Value: 1}, {Key: "featureCompatibilityVersion", Value: 1}}).Raw()
	if err != nil {
		q.refused = append(q.refused, "featureCompatibilityVersion")
		return bson.Raw{}
	}
	return reply
}

// replicaSet counts the members that keep data.
func (q *questioner) replicaSet(s *doctor.Server) {
	hello := q.ask("hello", 1)
	s.Router = textOf(hello, "msg") == "isdbgrid"
	if textOf(hello, "setName") == "" {
		return
	}
	if hosts, ok := hello.Lookup("hosts").ArrayOK(); ok {
		values, _ := hosts.Values() // none where it is damaged
		s.Members = len(values)
	}
	config := q.ask("replSetGetConfig", 1)
	if b, ok := lookupIn(config, "config", "writeConcernMajorityJournalDefault").BooleanOK(); ok {
		s.MajorityJournal = &b
	}
}

// lookup finds a value; one that is not there has no type.
func lookupIn(r bson.Raw, path ...string) bson.RawValue {
	v, err := r.LookupErr(path...)
	if err != nil {
		return bson.RawValue{}
	}
	return v
}

func textOf(r bson.Raw, path ...string) string {
	s, _ := lookupIn(r, path...).StringValueOK()
	return s
}

// whole reads a number of any type.
func wholeOf(r bson.Raw, path ...string) int64 {
	v := lookupIn(r, path...)
	if n, ok := v.AsInt64OK(); ok {
		return n
	}
	if x, ok := v.DoubleOK(); ok {
		return int64(x)
	}
	return 0
}

// value reads a text or a number as text.
func valueOf(r bson.Raw, path ...string) string {
	if s := textOf(r, path...); s != "" {
		return s
	}
	if n, ok := lookupIn(r, path...).AsInt64OK(); ok {
		return fmt.Sprint(n)
	}
	return ""
}

// local says whether all hosts of an address are this machine.
func local(hosts []string) bool {
	for _, h := range hosts {
		name, _, err := net.SplitHostPort(h)
		if err != nil {
			name = h
		}
		if ip := net.ParseIP(name); name != "localhost" && !strings.HasPrefix(name, "/") && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return len(hosts) > 0
}
