package drill

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/shards"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// clientDuty is the name of what a client of a drill does besides its load: it keeps a ledger and the times of its
// operations, and hands them over every few seconds.
const clientDuty = "drill"

// Duties are what the clients of drills do besides their load, for [fleet.Agent].
func Duties() fleet.Duties { return fleet.Duties{clientDuty: observeClient} }

// observations are what one load process keeps: the results of its writes, and when its operations ended.
type observations struct {
	name    string  // of the workload
	share   float64 // of reads; 0 is the workload's default
	timeout time.Duration
	ledger  *ledger.Ledger
	wrapped workload.Workload    // with the ledger; nil until the load is opened
	keeper  *transactions.Keeper // of the workload transactions, otherwise nil
	watch   *watcher
	placed  *shards.Map // placement of the collections; nil without shards, or if it is not known
}

// place tells the ledger and the watcher the placement of the collections, before the load begins.
func (b *observations) place(m *shards.Map) {
	if b.placed = m; m == nil {
		return
	}
	b.ledger.Place(m, len(m.Shards))
	if b.watch != nil {
		b.watch.place = m
	}
}

// workload wraps the ledger around the workload that open returns.
func (b *observations) workload(open func() (workload.Workload, error)) (w workload.Workload, err error) {
	switch b.name {
	case spec.WorkloadLedger:
		w, err = b.ledger.Workload(ownParams(b.share))
	case spec.WorkloadTransactions:
		if b.keeper == nil {
			return nil, errors.New("workload transactions: the process of the drill has to make the load. Remove agents and their places")
		}
		w = b.ledger.Wrap(b.keeper.Workload())
	default:
		if w, err = open(); err == nil {
			w = b.ledger.Wrap(w)
		}
	}
	if err != nil {
		return nil, err
	}
	b.wrapped, b.watch = w, newWatcher(w.Classes())
	b.watch.timeout = int64(b.timeout)
	if b.placed != nil {
		b.watch.place = b.placed
	}
	return w, nil
}

// observe makes the ledger and the watcher the observer of a worker.
func (b *observations) observe(worker int) load.Observer {
	settle, watched := b.ledger.Settle(worker), b.watch.worker()
	if b.keeper != nil {
		keep := b.keeper.Settle(worker)
		return func(op *workload.Op, s *load.Settlement) {
			keep(op, s)
			watched.add(op, s, settle(op, s))
		}
	}
	return func(op *workload.Op, s *load.Settlement) { watched.add(op, s, settle(op, s)) }
}

// ownParams are the parameters of the workload ledger: its defaults, or a given share of reads, most of which are
// judged then.
func ownParams(share float64) ledger.Params {
	if share <= 0 {
		return ledger.Params{}
	}
	return ledger.Params{Insert: 60 * (1 - share), Update: 30 * (1 - share), Read: 90 * share, Judged: 0.9}
}

// clientBrief is what a client needs to know of the drill.
type clientBrief struct {
	Run      uint32 `json:"run"`
	Seed     uint64 `json:"seed"`
	Workload string `json:"workload"`
	// Share is the share of reads in the workload ledger.
	Share float64 `json:"share,omitempty"`
	// Timeout is that of an operation, in nanoseconds.
	Timeout time.Duration `json:"timeout_ns"`
	// Writers is the most writers that each client has. The writers of client n are numbered from n times as many.
	Writers int `json:"writers"`
	// Placement is that of the collections in a sharded cluster, otherwise nil.
	Placement *shards.Map `json:"placement,omitempty"`
}

// lateBrief makes the brief when the clients are started, because the placement is known by then.
type lateBrief func() clientBrief

var _ json.Marshaler = (lateBrief)(nil)

func (b lateBrief) MarshalJSON() ([]byte, error) { return json.Marshal(b()) }

// handedOver is what is new in the observations of a client, encoded with gob.
type handedOver struct {
	At      int64 // run time of the client
	Last    bool
	Ledger  []byte
	Courses []wireCourse // by class and shard
}

// wireCourse is a course as it travels: thirteen numbers for each slice.
type wireCourse struct {
	Class  string
	Writes bool
	Shard  int
	Slices [][13]int64
}

// wire is a slice as it travels.
func (s slice) wire() [13]int64 {
	hung := int64(0)
	if s.hung {
		hung = 1
	}
	return [13]int64{s.number, s.ok, s.okFirst, s.okLast, s.failed, s.failFirst, s.failLast, hung, s.checked, s.timely,
		s.sent, s.again, s.againSent}
}

// observeClient makes a client keep its observations.
func observeClient(raw json.RawMessage, o *run.Options) (fleet.HandOver, error) {
	var b clientBrief
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("the brief of a client of a drill: %w", err)
	}
	k := &observations{name: b.Workload, share: b.Share, timeout: b.Timeout, ledger: ledger.New(ledger.Options{
		Run: b.Run, Seed: b.Seed, First: o.Share.Client * b.Writers, Writers: b.Writers, Processes: o.Share.Clients})}
	k.place(b.Placement)
	var began atomic.Pointer[time.Time]
	ready := o.Ready
	o.Workload, o.Observe = k.workload, k.observe
	o.Ready = func(ctx context.Context) error {
		err := ready(ctx)
		if err == nil {
			now := time.Now()
			began.Store(&now)
		}
		return err
	}
	return func(to io.Writer, last bool) error {
		at := began.Load()
		if at == nil {
			return nil // there was no load
		}
		return gob.NewEncoder(to).Encode(k.handOver(time.Since(*at), last))
	}, nil
}

// handOver returns what is new at a run time.
func (b *observations) handOver(at time.Duration, last bool) handedOver {
	h := handedOver{At: int64(at), Last: last, Ledger: b.ledger.Delta()}
	for _, c := range b.watch.courses(last) {
		w := wireCourse{Class: c.class, Writes: c.writes, Shard: c.shard}
		for _, s := range c.slices {
			w.Slices = append(w.Slices, s.wire())
		}
		h.Courses = append(h.Courses, w)
	}
	return h
}

// operations are what the load of a round did: the observations of this process and, in the end, of all clients.
type operations struct {
	spec     spec.Run
	dir      string // of the run's record
	number   uint32 // of the run, in each write
	observed observations
	probes   *probes // nil for a load that they cannot run beside

	handed    []received // by client; nil if this process makes the load
	parts     []course   // by class and shard, of the clients that ran until the end
	byClass   []course   // the first is that of all classes
	perClient [][]course // by class and shard, of a lost client until its last hand-over; nil with one client
	unknown   []record.UnknownWrites
	// clockUncertainty is how far the clock of a client may be from that of this process, in nanoseconds.
	clockUncertainty int64
}

// received is what a client handed over until now.
type received struct {
	remote  *ledger.Remote
	courses []course
	by      []map[int64]*slice // of each course
	until   time.Duration      // run time of the last hand-over
	last    bool
	err     error
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
	return fleet.Duty{Name: clientDuty, Started: started, Received: o.receive, Brief: lateBrief(func() clientBrief {
		place()
		if o.handed == nil {
			o.handed = make([]received, o.clients())
		}
		return clientBrief{Run: o.number, Seed: o.spec.Workload.Seed, Workload: o.observed.name,
			Share: o.observed.share, Timeout: o.observed.timeout, Writers: o.writersPerClient(), Placement: o.observed.placed}
	})}
}

// receive adds what a client handed over. The clock of the client is that of its run, which began late.
func (o *operations) receive(client int, late time.Duration, data []byte) {
	r := &o.handed[client]
	var h handedOver
	if r.remote == nil {
		r.remote = o.observed.ledger.Remote(late)
	}
	if r.err == nil {
		r.err = gob.NewDecoder(bytes.NewReader(data)).Decode(&h)
	}
	if r.err == nil {
		r.err = r.remote.Take(h.Ledger)
	}
	if r.err != nil {
		return // what follows would have a gap
	}
	for _, c := range h.Courses {
		r.add(c, int64(late))
	}
	r.until, r.last = time.Duration(h.At)+late, h.Last
}

// add adds a part of a course.
func (r *received) add(w wireCourse, late int64) {
	i := slices.IndexFunc(r.courses, func(c course) bool { return c.class == w.Class && c.shard == w.Shard })
	if i < 0 {
		i = len(r.courses)
		r.courses, r.by = append(r.courses, course{class: w.Class, shard: w.Shard}), append(r.by, map[int64]*slice{})
	}
	r.courses[i].writes = r.courses[i].writes || w.Writes
	w.move(late, r.by[i])
}

// gather completes the observations of all clients after the load. shift is the run time of the record at which the
// load began.
func (o *operations) gather(result *record.Run, shift int64) {
	switch {
	case o.handed != nil:
		o.gatherClients(result, shift)
	case o.observed.watch != nil:
		o.parts = o.observed.watch.courses(true)
	default:
		return
	}
	var shards []string
	if o.observed.placed != nil {
		shards = o.observed.placed.Shards
	}
	o.parts = append(o.parts, o.probes.courses(shards)...)
	o.byClass = byClass(o.parts)
}

// gatherClients completes what the clients handed over.
func (o *operations) gatherClients(result *record.Run, shift int64) {
	for _, c := range result.Clients {
		o.clockUncertainty = max(o.clockUncertainty, c.ClockUncertainty)
	}
	o.perClient = make([][]course, len(o.handed))
	for i := range o.handed {
		r := &o.handed[i]
		for k := range r.courses {
			r.courses[k].slices = inOrder(r.by[k])
		}
		o.perClient[i] = r.courses
		if r.last {
			o.parts = append(o.parts, r.courses...)
			continue
		}
		// The operations of a lost client are in no sum. Otherwise the target would seem to be slower after the loss.
		u := o.unknownOf(result, i, shift)
		o.observed.ledger.Cut(i*o.writersPerClient(), o.writersPerClient(), time.Duration(u.From))
		o.unknown = append(o.unknown, u)
	}
	if len(o.handed) == 1 {
		o.perClient = nil
	}
	o.sortClasses()
}

// sortClasses puts the courses in the order of the classes, which arrive in any.
func (o *operations) sortClasses() {
	at := map[string]int{}
	for i, c := range o.observed.wrapped.Classes() {
		at[c.Name] = i
	}
	slices.SortStableFunc(o.parts, func(a, b course) int { return at[a.class] - at[b.class] })
	for _, list := range o.perClient {
		slices.SortStableFunc(list, func(a, b course) int { return at[a.class] - at[b.class] })
	}
}

// unknownOf says which writes of a client without a last hand-over are unknown.
func (o *operations) unknownOf(result *record.Run, client int, shift int64) record.UnknownWrites {
	r := &o.handed[client]
	u := record.UnknownWrites{Client: client, From: int64(r.until) + shift, To: result.Course.WindowEnd,
		Problem: "it did not hand over the end of its ledger"}
	for _, c := range result.Clients {
		if c.Number != client {
			continue
		}
		if c.Problem != "" {
			u.Problem = c.Problem
		}
		if c.LostAt > 0 && c.Agent == "" { // an agent that is silent may have gone on
			u.To = min(u.To, c.LostAt+shift+int64(load.DefaultInterval)) // that it did not complete
		}
	}
	if r.err != nil {
		u.Problem = r.err.Error()
	}
	u.To = max(u.To, u.From)
	return u
}

// unknownTexts says which writes of which clients are unknown.
func (o *operations) unknownTexts() (list []string) {
	for _, u := range o.unknown {
		list = append(list, fmt.Sprintf("client %d ended early (%s). Its writes from %s to %s are unknown (%s): they count neither as "+
			"lost nor as present", u.Client, u.Problem, durationText(u.From), durationText(u.To), durationText(u.To-u.From)))
	}
	return list
}

// move adds a course to slices on the clock of this process, which began late nanoseconds before that of the client.
// First and last ends stay exact. The other operations of a slice may move to the next one.
func (w wireCourse) move(late int64, to map[int64]*slice) {
	for _, n := range w.Slices {
		s := slice{number: n[0], ok: n[1], okFirst: n[2], okLast: n[3], failed: n[4], failFirst: n[5], failLast: n[6],
			hung: n[7] != 0, checked: n[8], timely: n[9], sent: n[10], again: n[11], againSent: n[12]}
		s.move(late)
		addSlice(to, s)
	}
}

// move moves a slice to a clock that began so many nanoseconds earlier.
func (s *slice) move(late int64) {
	if s.answered() {
		s.okFirst, s.okLast = s.okFirst+late, s.okLast+late
	}
	if s.refused() {
		s.failFirst, s.failLast = s.failFirst+late, s.failLast+late
	}
	s.sent, s.againSent = s.sent+late, s.againSent+late
	s.number = (s.number*sliceLength + late) / sliceLength
}

// unspread returns the first collection of the load that is not on all shards; "" if all are, or if that is not known.
func (o *operations) unspread() string {
	if o.observed.placed == nil {
		return ""
	}
	for _, name := range o.observed.wrapped.Collections() {
		if len(o.observed.placed.On(name)) < len(o.observed.placed.Shards) {
			return o.spec.Database + "." + name
		}
	}
	return ""
}
