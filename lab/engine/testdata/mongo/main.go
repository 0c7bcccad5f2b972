// Command mongo plays mongod and mongos for tests on machines where no real one can be had. It is written from
// MongoDB's manual; comments name the page. It writes down how it was started and which commands it got, and answers
// them as the manual says.
//
// A replica set is real: its members know of each other by messages over TCP alone. There are heartbeats, terms, one
// vote for each term, an oplog that secondaries fetch from the primary, a point up to where a majority has everything
// in its journal, write concerns that wait for that, reads at majority, and retried writes that are done once ("Replica
// Set Elections", "Replica Set Oplog", "Write Concern", "Read Concern majority", "Retryable Writes"). A primary that
// reaches no majority for the election timeout, or hears of a later term, steps down; a former primary gives up what
// the next one does not have and keeps it in DBPATH/rollback/UUID/removed.TIME.bson ("Rollbacks During Replica Set
// Failover"). The journal is written every 100 ms and when somebody waits for it ("Journaling"): who is killed loses
// what was not. The answers to hello and replSetGetStatus have the fields that drivers and labs read.
//
// It differs from a real server in this:
//
//   - The first election of a set does not wait for the election timeout, and heartbeats come at least four times in it.
//   - Members get the whole oplog, which is never cut; there is no initial sync, no chaining, no flow control, no catching
//     up of a new primary beyond the votes, and no checkpoint. They do not authenticate to each other.
//   - Of queries it knows equality, of updates $set, $inc and replacements, of aggregations the count of a collection. There
//     are no indexes, transactions, tags, change streams or snapshots.
//   - Users and what config servers keep are in a directory that all processes of a test share, and so is who the primary of
//     a shard is. Routers pass commands on to the shards that have the documents; they do not authenticate to them. Chunks
//     that are moved do not take documents along.
//
// Whatever a test needs to know of these things has to be looked at on a real server.
//
// The file standin.json beside the executable says which release it plays and how it misbehaves.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings are those of standin.json.
type settings struct {
	Version   string   `json:"version"`
	Misbehave []string `json:"misbehave"`
}

// server is one process.
type server struct {
	settings
	router   bool
	major    int
	minor    int
	args     map[string]string // by name, with the dashes cut off; "true" where there is no value
	address  string
	shared   string // the directory that all processes of a test share
	keyFile  bool
	tls      *tls.Config // nil where the server speaks without
	recorder *recorder

	replica *replica
	routing routing
	began   time.Time
}

func main() {
	dir := filepath.Dir(os.Args[0])
	s := &server{router: filepath.Base(os.Args[0]) == "mongos", shared: filepath.Join(dir, "state"), began: time.Now()}
	text, err := os.ReadFile(filepath.Join(dir, "standin.json"))
	if err == nil {
		err = json.Unmarshal(text, &s.settings)
	}
	check(err)
	numbers := strings.Split(s.Version, ".")
	s.major, _ = strconv.Atoi(numbers[0])
	s.minor, _ = strconv.Atoi(numbers[1])
	if slices.Contains(os.Args[1:], "--version") {
		if s.router {
			fmt.Printf("mongos version v%s\nBuild Info: {}\n", s.Version)
		} else {
			fmt.Printf("db version v%s\nBuild Info: {}\n", s.Version)
		}
		return
	}
	s.parse(os.Args[1:])
	s.start()
}

// is says whether the server was told to misbehave in a way.
func (s *server) is(how string) bool { return slices.Contains(s.Misbehave, how) }

func (s *server) atLeast(major, minor int) bool {
	return s.major > major || s.major == major && s.minor >= minor
}

// options are those of "mongod" and "mongos" in the manual that a lab or its tests use; true for those without a value.
var options = map[string]bool{
	"port": false, "bind_ip": false, "nounixsocket": true, "unixSocketPrefix": false, "logpath": false, "logappend": true, "keyFile": false,
	"configdb": false, "dbpath": false, "replSet": false, "configsvr": true, "shardsvr": true, "wiredTigerCacheSizeGB": false,
	"setParameter": false, "oplogSize": false, "wiredTigerEngineConfigString": false, "journal": true, "nojournal": true, "quiet": true, "pidfilepath": false,
	"tlsMode": false, "tlsCertificateKeyFile": false, "tlsCAFile": false, "tlsAllowConnectionsWithoutCertificates": true,
}

// parse reads the command line and refuses what the release does not have.
func (s *server) parse(args []string) {
	s.args = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		flag, known := options[name]
		if name == "journal" || name == "nojournal" { // release notes of 6.1: removed
			known = !s.atLeast(6, 1)
		}
		if s.is("no-tls") && strings.HasPrefix(name, "tls") {
			known = false
		}
		if s.router && (name == "dbpath" || name == "replSet" || name == "wiredTigerCacheSizeGB") {
			known = false
		}
		if !known {
			fmt.Fprintf(os.Stderr, "Error parsing command line: unrecognised option '%s'\ntry '--help' for more information\n", args[i])
			os.Exit(2)
		}
		switch {
		case flag:
			value = "true"
		case !joined:
			i++
			if i == len(args) {
				fmt.Fprintf(os.Stderr, "Error parsing command line: the required argument for option '--%s' is missing\n", name)
				os.Exit(2)
			}
			value = args[i]
		}
		if name == "setParameter" && strings.HasPrefix(value, "unknown") {
			fmt.Fprintf(os.Stderr, "Error: Unknown --setParameter '%s'\n", strings.Split(value, "=")[0])
			os.Exit(2)
		}
		s.args[name] = value
	}
}

// start does what a server does before it listens.
func (s *server) start() {
	if file := s.args["pidfilepath"]; file != "" {
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			fmt.Println("ERROR: Cannot write pid file to", file, err)
			os.Exit(1)
		}
	}
	check(os.MkdirAll(s.shared, 0o755))
	listen := strings.Split(s.args["bind_ip"], ",")
	s.address = net.JoinHostPort(listen[0], s.args["port"])
	s.recorder = newRecorder(s.args["logpath"])
	s.log("I", "stand-in starting", map[string]any{"version": s.Version})
	if s.is("dies-at-start") || s.is("router-dies") && s.router {
		s.log("F", "Fatal assertion", map[string]any{"msgid": 28595, "error": "the stand-in was told to die"})
		os.Exit(14)
	}
	s.checkKeyFile()
	s.loadTLS()
	if dbpath := s.args["dbpath"]; dbpath != "" {
		s.lock(filepath.Join(dbpath, "mongod.lock"))
	}
	s.lock(filepath.Join(s.shared, "alive-"+s.address))
	check(s.change(func(st *state) error { st.register(s); return nil }))
	s.replica = openReplica(s)
	s.replica.begin()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	if s.router { // mongos listens once it has found its config servers
		for !s.configReady() {
			select {
			case <-stop:
				os.Exit(0)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for i, at := range listen {
		network := "unix"
		if i == 0 {
			network, at = "tcp", s.address
		}
		ln, err := net.Listen(network, at)
		if err != nil {
			s.log("E", "Error setting up listener", map[string]any{"error": err.Error()})
			os.Exit(48)
		}
		go s.accept(ln, network == "unix")
	}
	for range stop {
		if !s.is("ignores-sigterm") {
			s.replica.shutDown()
			s.log("I", "stand-in ends", nil)
			s.recorder.line(map[string]any{"ended": "SIGTERM"})
			os.Exit(0)
		}
	}
}

// checkKeyFile refuses a key that others may read (manual: "Keyfile Security").
func (s *server) checkKeyFile() {
	file := s.args["keyFile"]
	if file == "" {
		return
	}
	s.keyFile = true
	fi, err := os.Stat(file)
	check(err)
	text, err := os.ReadFile(file)
	check(err)
	if fi.Mode().Perm()&0o077 != 0 || len(text) < 6 || len(text) > 1024 {
		s.log("E", "Read security file failed", map[string]any{"error": "InvalidPath: permissions on " + file + " are too open, or its length is wrong"})
		os.Exit(1)
	}
}

// loadTLS reads the certificate that the server shows, and that it shows the other members (manual: "Configure mongod
// and mongos for TLS/SSL").
func (s *server) loadTLS() {
	if s.args["tlsMode"] != "requireTLS" {
		return
	}
	pair, err := tls.LoadX509KeyPair(s.args["tlsCertificateKeyFile"], s.args["tlsCertificateKeyFile"])
	check(err)
	authority, err := os.ReadFile(s.args["tlsCAFile"])
	check(err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		check(fmt.Errorf("there is no certificate in %s", s.args["tlsCAFile"]))
	}
	s.tls = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool,
		MinVersion: tls.VersionTLS12}
	if s.args["tlsAllowConnectionsWithoutCertificates"] == "" {
		s.tls.ClientAuth = tls.RequireAndVerifyClientCert
	}
}

// lock holds a file for as long as the process lives; others see from it that it is alive.
func (s *server) lock(file string) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	check(err)
	for range 200 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			held = append(held, f)
			return
		}
		time.Sleep(10 * time.Millisecond) // somebody just looks whether it is held
	}
	s.log("E", "DBPathInUse", map[string]any{"error": file + ": " + err.Error()})
	os.Exit(100)
}

var held []*os.File // kept from the garbage collector, which would close them

// log writes a line as the manual's "Log Messages" shows it.
func (s *server) log(severity, message string, attr map[string]any) {
	line, err := json.Marshal(map[string]any{"s": severity, "c": "-", "msg": message, "attr": attr})
	check(err)
	f, err := os.OpenFile(s.args["logpath"], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	check(err)
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	check(err)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "the stand-in fails:", err)
		os.Exit(2)
	}
}
