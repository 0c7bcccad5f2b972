package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// drillFamily tells lies with a proxy between a drill and a replica set of one member. The drill is complete: seeds,
// load, a fault that is marked from outside, final read, judgement of reads, verdict.
func drillFamily() family {
	var m *mongod
	f := family{name: "drill", verdict: "`plimsoll drill`: *holds* or *violated*", parallel: 12,
		start: func(ctx context.Context, c config) (stop func() error, err error) {
			if m, err = startMongod(ctx, c); err != nil {
				return nil, err
			}
			return m.stop, nil
		},
		about: func() string { return m.about },
		notFound: []string{
			"A write that is lost at a level that allows the loss (w:1 after a failover) is counted and allowed.",
			"A lie that the server takes back before the final read, to a session that does not read in between.",
			"Lies of secondaries, routers and shards: the trials have a set of one member.",
			"Damage to the writes of applications: only the writes of the drill itself are in its ledger.",
			"A transaction without an answer that was applied in part, if updates of the same documents without an answer can " +
				"explain the part, or if the loss of acknowledged updates is allowed.",
		},
	}
	server := func() *mongod { return m }
	for _, l := range drillLies() {
		r := row{name: l.name, lie: l.what, goal: everyOne, small: 3, full: 200, try: l.try(server), notFound: l.notFound}
		if l.notFound != "" {
			r.goal = unclaimed
		}
		f.rows = append(f.rows, r)
	}
	for _, l := range drillTroubles() {
		f.rows = append(f.rows, row{name: l.name, honest: l.what, goal: none, small: 3, full: l.full, try: l.try(server)})
	}
	return f
}

// deceit is one lie or one honest trouble of a server.
type deceit struct {
	name, what string
	doubt      bool   // a verdict of unknown finds the lie, too
	notFound   string // why a lie is not claimed to be found
	full       int    // trials of an honest trouble
	needsReal  string // what the stand-in lacks
	reads      *spec.Reads
	// collections are those of the load; nil for that of the workload of drills.
	collections []string
	setup       func(asked *spec.Drill)
	// make returns the function that handles the requests of one trial. It is called with d.mu locked, which is unlocked
	// while a server is asked.
	make func(d *drillTrial) func(x *exchange) error
}

// drillTrial is one drill with one deceit.
type drillTrial struct {
	m     *mongod
	rand  *rand.Rand
	proxy *proxy
	mark  chan time.Time

	mu      sync.Mutex
	writes  int // requests of the load that write
	begin   int // the fault is marked at this write, and its end at the next
	end     int
	from    int  // the deceit may begin at this write
	planted bool // the lie was told
	last    bson.D
}

// The loads of all trials are alike: their length is a number of operations, so a slow machine changes no count.
const (
	drillOperations = 130
	drillRate       = 600
	drillWorkers    = 8
)

// drillTimeout is long, because no trial is about a slow machine.
const drillTimeout = spec.Duration(20 * time.Second)

func (l deceit) try(server func() *mongod) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		m := server()
		if l.needsReal != "" && !m.real {
			return 0, notHere(l.needsReal + " needs a real mongod")
		}
		d := &drillTrial{m: m, rand: t.rand, mark: make(chan time.Time, 2)}
		d.begin = 32 + t.rand.IntN(10)
		d.end = d.begin + 5 + t.rand.IntN(10)
		d.from = d.begin - 12 + t.rand.IntN(20)
		meddle := l.make(d)
		var err error
		d.proxy, err = startProxy(m.address, func(x *exchange) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			x.lock = &d.mu
			d.count(x)
			return meddle(x)
		})
		if err != nil {
			return 0, err
		}
		defer d.proxy.close()
		return l.drill(ctx, d, t)
	}
}

// count marks the fault.
func (d *drillTrial) count(x *exchange) {
	if !x.command.writes() {
		return
	}
	d.writes++
	if d.writes == d.begin || d.writes == d.end {
		d.mark <- time.Now()
	}
}

// due says whether the lie is to be told now. It is told once.
func (d *drillTrial) due() bool { return d.writes >= d.from && !d.planted }

func (l deceit) drill(ctx context.Context, d *drillTrial, t *trial) (answer, error) {
	dir, err := t.dir()
	if err != nil {
		return 0, err
	}
	database, done := d.m.database()
	defer done()
	asked := spec.Drill{External: true, Expect: &spec.Expect{Loss: spec.LossNone}, Reads: l.reads,
		Run: spec.Run{Target: "mongodb://" + d.proxy.address() + "/?replicaSet=rs0", Database: database,
			Workload: spec.Workload{Seed: t.seed}, Load: spec.Load{Workers: drillWorkers, Rate: drillRate,
				Operations: drillOperations, Duration: spec.Duration(time.Minute), Timeout: drillTimeout}}}
	if l.setup != nil {
		l.setup(&asked)
	}
	if err := asked.Complete(); err != nil {
		return 0, err
	}
	got, err := drill.Run(ctx, asked, drill.Options{Dir: filepath.Join(dir, "drill"), Mark: d.mark, Run: run.Options{}})
	if err := d.m.empty(ctx, database, append(l.collections, ledger.DefaultCollection, drillSeeds)...); err != nil {
		return 0, err
	}
	var early *run.Error
	if errors.As(err, &early) && early.Stage == run.Reaching {
		return notPlanted, nil // it had no load, so it judged nothing
	}
	if err != nil {
		return 0, err
	}
	t.say("verdict %s: %s", got.Verdict, strings.Join(got.Reasons, "; "))
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case l.full == 0 && !d.planted:
		return notPlanted, nil
	case got.Verdict == record.Violated:
		return accused, nil
	case got.Verdict == record.Holds:
		return cleared, nil
	case l.doubt:
		return accused, nil
	}
	return undecided, nil
}

// writes says whether a command of the load writes. The documents of a load phase come in batches.
func (c command) writes() bool {
	switch c.name {
	case "insert":
		docs, err := c.written()
		return err == nil && len(docs) == 1 && c.collection() != drillSeeds
	case "update":
		return c.collection() != drillSeeds
	}
	return false
}

// is reports whether a command is one that writes, of a name; "" is any.
func (c command) is(name string) bool { return (name == "" || c.name == name) && c.writes() }

// updates reports whether a command is an update of the load.
func (c command) updates() bool { return c.is("update") }

// drillSeeds is the collection of the documents that a drill writes besides its load.
const drillSeeds = "plimsoll_drill_seeds"

// arrayOf is the key of the documents of a command that writes.
func arrayOf(name string) string {
	if name == "insert" {
		return "documents"
	}
	return "updates"
}

// written are the documents of a command that writes.
func (c command) written() (docs []bsoncore.Document, err error) {
	v, err := c.doc.LookupErr(arrayOf(c.name))
	if err != nil {
		return nil, err
	}
	values, err := v.Array().Values()
	for _, v := range values {
		docs = append(docs, v.Document())
	}
	return docs, err
}

// slot says whether the command reads one document of counters of the own workload, and its _id.
func (c command) find() (id bson.ObjectID, ok bool) {
	if c.name != "find" || c.collection() != ledger.DefaultCollection {
		return id, false
	}
	v, err := c.doc.LookupErr("filter", "_id")
	if err != nil {
		return id, false
	}
	return v.ObjectIDOK()
}
