package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/shards"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// clientDuty is the name of what a load process of a drill does besides its load: it keeps its own books and leaves
// them beside its record.
const clientDuty = "drill"

// booksFile is the name of the file. The parent process removes it.
const booksFile = "books.json"

// Duties are what the load processes of drills do besides their load, for [fleet.Serve].
func Duties() fleet.Duties { return fleet.Duties{clientDuty: keepBooks} }

// books are what one load process keeps: the results of its writes, and when its operations ended.
type books struct {
	name    string  // of the workload
	share   float64 // of reads; 0 is the workload's default
	ledger  *ledger.Ledger
	wrapped workload.Workload // with the ledger; nil until the load is opened
	watch   *watcher
	placed  *shards.Map // placement of the collections; nil without shards, or if it is not known
}

// place tells the ledger and the watcher the placement of the collections, before the load begins.
func (b *books) place(m *shards.Map) {
	if b.placed = m; m == nil {
		return
	}
	b.ledger.Place(m, len(m.Shards))
	if b.watch != nil {
		b.watch.place = m
	}
}

// workload wraps the ledger and the watcher around the workload that open returns.
func (b *books) workload(open func() (workload.Workload, error)) (w workload.Workload, err error) {
	if b.name == spec.WorkloadLedger {
		w, err = b.ledger.Workload(ownParams(b.share))
	} else if w, err = open(); err == nil {
		w = b.ledger.Wrap(w)
	}
	if err != nil {
		return nil, err
	}
	b.wrapped, b.watch = w, newWatcher(w)
	if b.placed != nil {
		b.watch.place = b.placed
	}
	return b.watch, nil
}

// ownParams are the parameters of the workload ledger: its defaults, or a given share of reads, most of which are
// judged then.
func ownParams(share float64) ledger.Params {
	if share <= 0 {
		return ledger.Params{}
	}
	return ledger.Params{Insert: 60 * (1 - share), Update: 30 * (1 - share), Read: 90 * share, Judged: 0.9}
}

// clientBrief is what a load process needs to know of the drill.
type clientBrief struct {
	Run      uint32 `json:"run"`
	Seed     uint64 `json:"seed"`
	Workload string `json:"workload"`
	// Share is the share of reads in the workload ledger.
	Share float64 `json:"share,omitempty"`
	// Writers is the most writers that each process has. The writers of process n are numbered from n times as many.
	Writers int `json:"writers"`
	// Placement is that of the collections in a sharded cluster, otherwise nil.
	Placement *shards.Map `json:"placement,omitempty"`
}

// lateBrief makes the brief when the load processes are started, because the placement is known by then.
type lateBrief func() clientBrief

// MarshalJSON implements [json.Marshaler].
func (b lateBrief) MarshalJSON() ([]byte, error) { return json.Marshal(b()) }

// handedOver are the books of one load process, as they travel.
type handedOver struct {
	Ledger  []byte       `json:"ledger"`
	Courses []wireCourse `json:"courses"` // by class and shard
}

// wireCourse is a course as it travels: seven numbers for each slice.
type wireCourse struct {
	Class  string     `json:"class"`
	Writes bool       `json:"writes"`
	Shard  int        `json:"shard"`
	Slices [][7]int64 `json:"slices"`
}

// keepBooks makes a load process keep its books.
func keepBooks(raw json.RawMessage, o *run.Options) (after func() error, err error) {
	var b clientBrief
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("the brief of a client of a drill: %w", err)
	}
	k := &books{name: b.Workload, share: b.Share, ledger: ledger.New(ledger.Options{Run: b.Run, Seed: b.Seed,
		First: o.Client * b.Writers, Writers: b.Writers})}
	k.place(b.Placement)
	begun := false
	ready := o.Ready
	o.Workload = k.workload
	o.Ready = func(ctx context.Context) error {
		err := ready(ctx)
		begun = err == nil
		return err
	}
	dir := o.Dir
	return func() error {
		if !begun {
			return nil
		}
		return k.leave(filepath.Join(dir, booksFile))
	}, nil
}

// leave writes the books for the parent process, completely or not at all.
func (b *books) leave(name string) error {
	if b.watch == nil {
		return nil // there was no load
	}
	var h handedOver
	var err error
	if h.Ledger, err = b.ledger.MarshalBinary(); err != nil {
		return err
	}
	for _, c := range b.watch.courses() {
		w := wireCourse{Class: c.class, Writes: c.writes, Shard: c.shard}
		for _, s := range c.slices {
			w.Slices = append(w.Slices, [7]int64{s.number, s.ok, s.okFirst, s.okLast, s.failed, s.failFirst, s.failLast})
		}
		h.Courses = append(h.Courses, w)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err = os.WriteFile(name+".part", text, 0o600); err == nil {
		err = os.Rename(name+".part", name)
	}
	if err != nil {
		return fmt.Errorf("cannot write the ledger of this client: %w", err)
	}
	return nil
}

// operations are what the load of a round did: the books of this process and, in the end, of all load processes.
type operations struct {
	spec   spec.Run
	dir    string // of the run's record
	number uint32 // of the run, in each write
	books  books

	parts     []course   // by class and shard
	byClass   []course   // the first is that of all classes
	perClient [][]course // by class and shard, nil for a client that is gone; nil altogether with one client
	gone      []string   // clients without books, and why
}

// clients is the number of load processes.
func (o *operations) clients() int { return max(1, int(o.spec.Load.Clients)) }

// writersPerClient is the most writers that a load process has.
func (o *operations) writersPerClient() int {
	n, all := o.clients(), int(run.Streams(o.spec.Load))
	if o.spec.Load.Shares == spec.SharesByWeight || len(o.spec.Load.Zones) > 0 {
		return all - n + 1 // the shares are not known before the clients are there
	}
	return (all + n - 1) / n
}

// duty is what the load processes do besides their load. place is called before their brief is made.
func (o *operations) duty(place func(), started func(time.Time)) fleet.Duty {
	return fleet.Duty{Name: clientDuty, Started: started, Brief: lateBrief(func() clientBrief {
		place()
		return clientBrief{Run: o.number, Seed: o.spec.Workload.Seed, Workload: o.books.name,
			Share: o.books.share, Writers: o.writersPerClient(), Placement: o.books.placed}
	})}
}

// gather merges the books of all load processes. Their clocks are those of their runs, which began by their skew later
// than the run of this process.
func (o *operations) gather(result *record.Run) {
	if o.clients() == 1 {
		if o.books.watch != nil {
			o.parts = o.books.watch.courses()
			o.byClass = byClass(o.parts)
		}
		return
	}
	o.perClient = make([][]course, o.clients())
	for i := range o.perClient {
		late := time.Duration(0)
		if i < len(result.Clients) {
			late = time.Duration(result.Clients[i].StartSkew)
		}
		list, err := o.merge(i, late)
		if err == nil {
			o.perClient[i] = list
			o.parts = append(o.parts, list...)
			continue
		}
		o.books.ledger.Gone(i*o.writersPerClient(), o.writersPerClient())
		o.gone = append(o.gone, fmt.Sprintf("client %d is gone with its ledger (%s). "+
			"Its writes count neither as lost nor as present", i, whyGone(result, i, err)))
	}
	o.byClass = byClass(o.parts)
}

// whyGone says why a client left no books.
func whyGone(result *record.Run, client int, err error) string {
	for _, c := range result.Clients {
		if c.Number == client && c.Problem != "" {
			return c.Problem
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "it left no books"
	}
	return err.Error()
}

// merge adds the books of one load process, which began late, to the ledger, and returns its courses.
func (o *operations) merge(client int, late time.Duration) ([]course, error) {
	name := filepath.Join(o.dir, record.ClientsDir, fmt.Sprintf("%02d", client), booksFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	defer os.Remove(name) // the record of the drill has what it says
	var h handedOver
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	l := ledger.New(ledger.Options{})
	if err := l.UnmarshalBinary(h.Ledger); err != nil {
		return nil, err
	}
	if err := o.books.ledger.Merge(l, late); err != nil {
		return nil, err
	}
	list := make([]course, 0, len(h.Courses))
	for _, c := range h.Courses {
		list = append(list, c.course(int64(late)))
	}
	return list, nil
}

// course moves a course to the clock of this process, which began late nanoseconds before that of the client. First and
// last ends stay exact. The other operations of a slice may move to the next one.
func (w wireCourse) course(late int64) course {
	by := map[int64]*slice{}
	for _, n := range w.Slices {
		s := slice{ok: n[1], okFirst: n[2], okLast: n[3], failed: n[4], failFirst: n[5], failLast: n[6]}
		if s.ok > 0 {
			s.okFirst, s.okLast = s.okFirst+late, s.okLast+late
		}
		if s.failed > 0 {
			s.failFirst, s.failLast = s.failFirst+late, s.failLast+late
		}
		s.number = (n[0]*sliceLength + late) / sliceLength
		addSlice(by, s)
	}
	return course{class: w.Class, shard: w.Shard, writes: w.Writes, slices: inOrder(by)}
}

// unspread returns the first collection of the load that is not on all shards; "" if all are, or if that is not known.
func (o *operations) unspread() string {
	if o.books.placed == nil {
		return ""
	}
	for _, name := range o.books.wrapped.Collections() {
		if len(o.books.placed.On(name)) < len(o.books.placed.Shards) {
			return o.spec.Database + "." + name
		}
	}
	return ""
}
