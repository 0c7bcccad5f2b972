package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/run/fleet"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// clientDuty is the name of what a load process of a drill does besides its load: it keeps books of its own, and leaves
// them beside its record when its load is over.
const clientDuty = "drill"

// booksFile is where it leaves them. The parent takes it away.
const booksFile = "books.json"

// Duties are what the load processes of drills know to do, for [fleet.Serve].
func Duties() fleet.Duties { return fleet.Duties{clientDuty: keepBooks} }

// clientBrief is what a load process is told of the drill.
type clientBrief struct {
	Run      uint32 `json:"run"`
	Seed     uint64 `json:"seed"`
	Workload string `json:"workload"`
	// Share is the share of reads in the own workload.
	Share float64 `json:"share,omitempty"`
	// Writers is how many writers each process has at most: those of process n begin with n times as many.
	Writers int `json:"writers"`
	// Placement is how the collections are spread over the shards of a cluster; nil where there are none.
	Placement *shards.Map `json:"placement,omitempty"`
}

// lateBrief makes the brief when the load processes are started: the collections are spread by then.
type lateBrief func() clientBrief

// MarshalJSON implements [json.Marshaler].
func (b lateBrief) MarshalJSON() ([]byte, error) { return json.Marshal(b()) }

// handedOver are the books of one load process.
type handedOver struct {
	// Zero is the wall clock, in nanoseconds of the Unix epoch, at the process's run time zero.
	Zero    int64        `json:"zero"`
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
	var zero time.Time
	k.place(b.Placement)
	ready := o.Ready
	o.Workload = k.workload
	o.Ready = func(ctx context.Context) error {
		err := ready(ctx)
		zero = time.Now() // the load begins when this returns
		return err
	}
	dir := o.Dir
	return func() error { return k.leave(filepath.Join(dir, booksFile), zero) }, nil
}

// leave writes the books where the parent finds them, whole or not at all.
func (b *books) leave(name string, zero time.Time) error {
	if b.watch == nil || zero.IsZero() {
		return nil // there was no load
	}
	h := handedOver{Zero: zero.UnixNano()}
	var err error
	if h.Ledger, err = b.ledger.MarshalBinary(); err != nil {
		return err
	}
	for _, c := range b.watch.courses() {
		w := wireCourse{Class: c.class, Writes: c.writes, Shard: c.shard}
		for _, s := range c.slices {
			w.Slices = append(w.Slices, [7]int64{s.number, s.ok, s.okFirst, s.okLast, s.failed, s.failFirst, s.failAt})
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
		return fmt.Errorf("the ledger of this client cannot be handed over: %w", err)
	}
	return nil
}

// clients is how many load processes a round has.
func (r *round) clients() int { return max(1, int(r.drill.spec.Run.Load.Clients)) }

// writersPerClient is how many writers each load process has at most.
func (r *round) writersPerClient() int {
	n := r.clients()
	return (int(run.Streams(r.drill.spec.Run)) + n - 1) / n
}

// duty is what the load processes of this round do besides the load.
func (r *round) duty(started func(time.Time)) fleet.Duty {
	return fleet.Duty{Name: clientDuty, Started: started, Brief: lateBrief(func() clientBrief {
		r.placement()
		return clientBrief{Run: r.number, Seed: r.drill.spec.Run.Workload.Seed, Workload: r.books.name, Share: r.books.share,
			Writers: r.writersPerClient(), Placement: r.books.placed}
	})}
}

// gather takes over what the load processes kept. Of one that is gone nothing is known.
func (r *round) gather(result *record.Run) {
	if r.clients() == 1 {
		if r.books.watch != nil {
			r.parts = r.books.watch.courses()
			r.courses = byClass(r.parts)
		}
		return
	}
	r.perClient = make([][]course, r.clients())
	for i := range r.perClient {
		list, err := r.mergeBooks(i)
		if err == nil {
			r.perClient[i] = list
			continue
		}
		r.books.ledger.Gone(i*r.writersPerClient(), r.writersPerClient())
		r.gone = append(r.gone, fmt.Sprintf("client %d is gone and its ledger with it (%s): nothing is known about what it was told, so its writes count neither as lost nor as there",
			i, whyGone(result, i, err)))
	}
	for _, list := range r.perClient {
		r.parts = append(r.parts, list...)
	}
	r.courses = byClass(r.parts)
}

// whyGone says what ended a client that left nothing.
func whyGone(result *record.Run, client int, err error) string {
	for _, c := range result.Clients {
		if c.Number == client && c.Problem != "" {
			return c.Problem
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "it left nothing"
	}
	return err.Error()
}

// mergeBooks takes over the books of one load process.
func (r *round) mergeBooks(client int) ([]course, error) {
	name := filepath.Join(r.dir(), record.ClientsDir, fmt.Sprintf("%02d", client), booksFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	defer os.Remove(name) // what it says is in the record of the drill
	var h handedOver
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	l := ledger.New(ledger.Options{})
	if err := l.UnmarshalBinary(h.Ledger); err != nil {
		return nil, err
	}
	late := time.Unix(0, h.Zero).Sub(r.zero)
	if err := r.books.ledger.Merge(l, late); err != nil {
		return nil, err
	}
	list := make([]course, 0, len(h.Courses))
	for _, c := range h.Courses {
		list = append(list, c.course(int64(late)))
	}
	return list, nil
}

// course is a course on the clock of the run, which began late nanoseconds before that of its client. What ended in one
// slice there ended in one slice here, or up to one slice later: first and last ends stay exact.
func (w wireCourse) course(late int64) course {
	by := map[int64]*slice{}
	for _, n := range w.Slices {
		s := slice{ok: n[1], okFirst: n[2], okLast: n[3], failed: n[4], failFirst: n[5], failAt: n[6]}
		if s.ok > 0 {
			s.okFirst, s.okLast = s.okFirst+late, s.okLast+late
		}
		if s.failed > 0 {
			s.failFirst, s.failAt = s.failFirst+late, s.failAt+late
		}
		s.number = (n[0]*sliceLength + late) / sliceLength
		addSlice(by, s)
	}
	return course{class: w.Class, shard: w.Shard, writes: w.Writes, slices: inOrder(by)}
}

// problems puts several reasons into one sentence, "" if there are none.
func problems(list ...string) string {
	var some []string
	for _, text := range list {
		if text != "" {
			some = append(some, text)
		}
	}
	return strings.Join(some, "; ")
}
