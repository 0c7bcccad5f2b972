package topology

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var updateMongo = flag.Bool("update", false, "rewrite the recorded conversations")

// testLimit is long: the machine may be busy with other tests.
const testLimit = 10 * time.Minute

// mongoLab is a cluster of a test, with what it tells.
type mongoLab struct {
	Cluster
	c    *mongoCluster
	site Site

	mu     sync.Mutex
	events []string
}

// newMongoLab plans and makes a cluster that does not run yet, and ends it with the test.
func newMongoLab(t *testing.T, mode, binary string, change func(*spec.Lab)) *mongoLab {
	t.Helper()
	asked := spec.Lab{Name: "test", Engine: spec.Engine{Name: spec.LabMongod, Binary: binary}}
	asked.Hosts.Mode = mode
	change(&asked)
	asked.Defaults()
	if err := asked.Validate(); err != nil {
		t.Fatal(err)
	}
	layout, err := Plan(asked)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range layout.Hosts {
		names = append(names, h.Name)
	}
	j, hosts := enginetest.Hosts(t, mode, names...)
	l := &mongoLab{}
	volumes := t.TempDir()
	l.site = Site{Spec: asked, Layout: layout, Home: t.TempDir(), Dir: t.TempDir(), Journal: j, Hosts: hosts,
		Volume: func(_ context.Context, member string) (string, error) {
			return filepath.Join(volumes, member), os.MkdirAll(filepath.Join(volumes, member), 0o755)
		},
		Event: func(kind, text string, data map[string]string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.events = append(l.events, kind+": "+text)
		}}
	if l.Cluster, err = New(t.Context(), l.site); err != nil {
		t.Fatal(err)
	}
	l.c = l.Cluster.(*mongoCluster)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testLimit)
		defer cancel()
		if err := l.Stop(ctx); err != nil && !t.Failed() {
			t.Errorf("stopping: %v", err)
		}
		for _, n := range l.Nodes() {
			if n.Status().Running {
				t.Errorf("%s runs after Stop", n.Name())
			}
		}
	})
	return l
}

func (l *mongoLab) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// waitEvent waits until something was told.
func (l *mongoLab) waitEvent(t *testing.T, part string) {
	t.Helper()
	for end := time.Now().Add(testLimit); ; time.Sleep(20 * time.Millisecond) {
		if slices.ContainsFunc(l.told(), func(e string) bool { return strings.Contains(e, part) }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing told of %q; told was:\n%s", part, strings.Join(l.told(), "\n"))
		}
	}
}

func start(t *testing.T, l *mongoLab) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	t.Cleanup(cancel)
	if err := l.Start(ctx); err != nil {
		t.Fatalf("%v\ntold was:\n%s", err, strings.Join(l.told(), "\n"))
	}
	return ctx
}

// The clusters of which conversations are recorded.
var mongoConversations = []struct {
	name, version string
	change        func(*spec.Lab)
}{
	{"standalone", "8.0.12", func(s *spec.Lab) { s.Engine.Cache = 1 << 30 }},
	{"standalone-authentication", "7.0.24", func(s *spec.Lab) { s.Engine.Authentication = true }},
	{"replica-set-3", "8.0.12", func(s *spec.Lab) { s.Topology.Members = 3 }},
	{"replica-set-arbiter-priorities", "5.0.31", func(s *spec.Lab) {
		s.Topology = spec.Topology{Members: 2, Arbiter: true, Priorities: []float64{1, 5}, Election: "elect-fast",
			Settings: map[string]string{"chainingAllowed": "false", "writeConcernMajorityJournalDefault": "false", "electionTimeoutMillis": "2000"}}
	}},
	{"replica-set-authentication", "6.0.25", func(s *spec.Lab) {
		s.Topology.Members = 3
		s.Engine.Authentication = true
		s.Engine.Parameters = map[string]string{"ttlMonitorEnabled": "false", "syncdelay": "30"}
		s.Engine.Args = []string{"--oplogSize", "200"}
	}},
	{"replica-set-9", "4.4.29", func(s *spec.Lab) { s.Topology.Members = 9 }},
	{"sharded-hashed-4.4", "4.4.29", sharded("hashed", 0)},
	{"sharded-hashed-7.0", "7.0.24", sharded("hashed", 8)},
	{"sharded-hashed-8.0", "8.0.12", sharded("hashed", 0)},
	{"sharded-ranged-8.0", "8.0.12", sharded("ranged", 6)},
	{"sharded-arbiter-authentication", "6.0.25", func(s *spec.Lab) {
		s.Engine.Authentication = true
		s.Topology = spec.Topology{Kind: spec.LabSharded, Shards: 1, Members: 2, Arbiter: true, ConfigServers: 1, Routers: 1,
			Collection: &spec.Collection{Namespace: "shop.orders", Key: "customer", SplitAt: []string{"h", "p"}}}
	}},
}

func sharded(how string, chunks spec.Count) func(*spec.Lab) {
	return func(s *spec.Lab) {
		s.Topology = spec.Topology{Kind: spec.LabSharded, Shards: 2, Members: 3, ConfigServers: 3, Routers: 2, Election: "elect-fast",
			Collection: &spec.Collection{Sharding: how, Chunks: chunks}}
	}
}

// What is said to each server, in which order and how it was started, is what MongoDB's manual asks for. The recorded
// conversations are read by people; a change of one is a change of what real servers are told.
func TestMongoConversations(t *testing.T) {
	for _, c := range mongoConversations {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// On a busy machine, heartbeats may be later than the election timeout.
			l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, c.version, "first-elects"), c.change)
			ctx := start(t, l)
			if err := l.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			compareFile(t, filepath.Join("testdata", "mongo", c.name+".txt"), l.conversation(t)+l.progress())
		})
	}
}

func (l *mongoLab) progress() string {
	var b strings.Builder
	b.WriteString("\ntold\n")
	// that is about the machine
	told := slices.DeleteFunc(l.told(), func(e string) bool { return strings.Contains(e, "can open only") })
	// sets are formed side by side
	slices.Sort(told)
	for _, e := range slices.Compact(told) {
		b.WriteString("  " + e + "\n")
	}
	return b.String()
}

func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *updateMongo {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

var (
	objectID = regexp.MustCompile(`\{"\$oid":"[0-9a-f]{24}"\}`)
	password = regexp.MustCompile(`"pwd":"[^"]*"`)
)

// conversation is what each server was started with and told, with names in the place of addresses and directories.
// A command that is repeated until something has happened stands there once.
func (l *mongoLab) conversation(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	replace := []string{l.site.Dir, "LAB", filepath.Dir(l.site.Spec.Engine.Binary), "BIN"}
	for _, n := range l.Nodes() {
		_, port, _ := strings.Cut(n.Address(), ":")
		if n.DataDir() != "" && !strings.HasPrefix(n.DataDir(), l.site.Dir) {
			replace = append(replace, n.DataDir(), "VOLUME/"+n.Name())
		}
		replace = append(replace, n.Address(), n.Name(), "--port "+port, "--port PORT")
	}
	names := strings.NewReplacer(replace...)
	for _, n := range l.Nodes() {
		fmt.Fprintf(&b, "%s (%s on %s)\n", n.Name(), n.Kind(), n.Host().Name())
		last := ""
		for _, line := range readLines(t, filepath.Join(filepath.Dir(n.Logs()[0]), "conversation.ndjson")) {
			var e struct {
				Started []string        `json:"started"`
				Ended   string          `json:"ended"`
				DB      string          `json:"db"`
				Command json.RawMessage `json:"command"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			said := e.DB + " " + string(e.Command)
			if e.Started != nil {
				said = strings.Join(e.Started, " ")
			}
			if e.Ended != "" {
				said = e.Ended
			}
			said = password.ReplaceAllString(objectID.ReplaceAllString(names.Replace(said), `"ID"`), `"pwd":"PASSWORD"`)
			if said != last {
				b.WriteString("  " + said + "\n")
			}
			last = said
		}
		b.WriteString("\n")
	}
	return b.String()
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	return lines
}
