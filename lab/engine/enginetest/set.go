package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Set is a replica set that no lab started: processes that a script starts, stops and kills, as an administrator's
// commands do.
type Set struct {
	// Script is run as SCRIPT VERB MEMBER with the verbs start, stop, kill, pause, resume, is-dead and is-paused.
	Script string
	// Names are the members db1, db2, …, and Addresses are host:port of each.
	Names, Addresses []string
	// URI is the address of the whole set. With authentication it has the user root, and Writer is that of a user who may
	// only read and write.
	URI, Writer string
}

// password is that of the users of a set with authentication.
const password = "correct horse"

// script is the text of [Set.Script]. DIR has a directory for each member, with its port and the id of its process. A
// process that init has not reaped is dead.
const script = `#!/bin/sh
set -eu
dir='DIR'/$2
state() { sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' /proc/$(cat $dir/pid)/status 2>/dev/null || true; }
case $1 in
start)
	case "$(state)" in ''|Z) ;; *) exit 0 ;; esac
	setsid 'BINARY' --replSet rs0 --bind_ip 127.0.0.1 --port $(cat $dir/port) --dbpath $dir/data --logpath $dir/log KEY \
		>/dev/null 2>&1 </dev/null &
	echo $! >$dir/pid ;;
stop)
	kill -TERM $(cat $dir/pid)
	while case "$(state)" in ''|Z) false ;; esac; do sleep 0.05; done ;;
kill) kill -9 $(cat $dir/pid) ;;
pause) kill -STOP $(cat $dir/pid) ;;
resume) kill -CONT $(cat $dir/pid) ;;
is-dead) case "$(state)" in ''|Z) echo "$2 is dead" ;; *) echo "$2 lives"; exit 1 ;; esac ;;
is-paused) [ "$(state)" = T ] ;;
*) echo "there is no verb $1" >&2; exit 2 ;;
esac
`

// StartSet starts a replica set of a mongod and waits for its primary. It ends with the test.
func StartSet(t testing.TB, binary string, members int) *Set {
	t.Helper()
	return startSet(t, binary, members, false)
}

// StartSecureSet is [StartSet] with a key file and authentication.
func StartSecureSet(t testing.TB, binary string, members int) *Set {
	t.Helper()
	s := startSet(t, binary, members, true)
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	open := s.URI
	for _, user := range []string{"root", "writer"} { // the first is created without a user, the second by the first
		client, err := mongo.Connect(options.Client().ApplyURI(cmp.Or(s.Writer, open)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Disconnect(ctx) }()
		role := map[string]string{"root": "root", "writer": "readWriteAnyDatabase"}[user]
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "createUser", Value: user}, {Key: "pwd", Value: password},
			{Key: "roles", Value: bson.A{role}}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}}}).Err(); err != nil {
			t.Fatal(err)
		}
		s.URI, s.Writer = s.Writer, strings.Replace(open, "//", "//"+url.UserPassword(user, password).String()+"@", 1)
	}
	return s
}

func startSet(t testing.TB, binary string, members int, secure bool) *Set {
	t.Helper()
	dir := t.TempDir()
	s := &Set{Script: filepath.Join(dir, "ctl")}
	key := ""
	if secure {
		key = "--keyFile '" + filepath.Join(dir, "key") + "'"
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte(strings.Repeat("key0", 16)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.NewReplacer("DIR", dir, "BINARY", binary, "KEY", key).Replace(script)
	if err := os.WriteFile(s.Script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	config := bson.A{}
	for i, port := range freePorts(t, members) {
		name := fmt.Sprintf("db%d", i+1)
		if err := os.MkdirAll(filepath.Join(dir, name, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "port"), []byte(port), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Names, s.Addresses = append(s.Names, name), append(s.Addresses, "127.0.0.1:"+port)
		config = append(config, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: s.Addresses[i]}})
		s.Do(t, "start", name)
		t.Cleanup(func() { _ = exec.Command(s.Script, "kill", name).Run() }) // it may be dead
	}
	s.URI = "mongodb://" + strings.Join(s.Addresses, ",") + "/?replicaSet=rs0"
	s.initiate(t, bson.D{{Key: "_id", Value: "rs0"}, {Key: "members", Value: config},
		{Key: "settings", Value: bson.D{{Key: "electionTimeoutMillis", Value: 2000}, {Key: "heartbeatIntervalMillis", Value: 500}}}})
	return s
}

// Do runs the script, which must succeed.
func (s *Set) Do(t testing.TB, verb, member string) {
	t.Helper()
	if out, err := exec.Command(s.Script, verb, member).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", verb, member, err, out)
	}
}

// initiate configures the set and waits for its primary.
func (s *Set) initiate(t testing.TB, config bson.D) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for i := range s.Addresses { // the last is the first member, when all others answer
		one, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + s.Addresses[len(s.Addresses)-1-i] + "/?directConnection=true"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = one.Disconnect(ctx) }()
		command := bson.D{{Key: "ping", Value: 1}}
		if i == len(s.Addresses)-1 {
			command = bson.D{{Key: "replSetInitiate", Value: config}}
		}
		if err := one.Database("admin").RunCommand(ctx, command).Err(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := mongo.Connect(options.Client().ApplyURI(s.URI).SetServerSelectionTimeout(startLimit))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = all.Disconnect(ctx) }()
	if err := all.Ping(ctx, nil); err != nil {
		t.Fatalf("no primary: %v", err)
	}
}

// freePorts returns different ports that nothing listens on now.
func freePorts(t testing.TB, n int) (ports []string) {
	t.Helper()
	for len(ports) < n {
		port, err := engine.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if text := strconv.Itoa(port); !slices.Contains(ports, text) {
			ports = append(ports, text)
		}
	}
	return ports
}
