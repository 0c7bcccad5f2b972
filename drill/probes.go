package drill

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
	"github.com/plimsoll-bench/plimsoll/workload"
)

const (
	// probeEvery is the time between two probes of a prober: the resolution of outages.
	probeEvery = 25 * time.Millisecond
	// probeAtMost is the longest wait of a probe for its reply. It is short, because a prober sends nothing else in that
	// time.
	probeAtMost = 250 * time.Millisecond
)

// probes are a reader and a writer for each shard in addition to the load, each with its own connection. Workers of the
// load may all wait for operations of one kind, and then show nothing about the other kind. Probes are no throughput.
type probes struct {
	store  store.Store
	list   []*prober
	group  sync.WaitGroup
	cancel context.CancelFunc
}

// prober sends one request again and again.
type prober struct {
	session store.Session
	request workload.Request
	timeout time.Duration
	shard   string // where the document is, "" if that is not known
	course  course
	last    atomic.Int64 // when the last request was sent that succeeded
}

// openProbes opens the connections of the probes of a round. They use a document of each shard in the collection of the
// seed documents, with the client and the concerns of the load.
func openProbes(ctx context.Context, uri string, asked spec.Run, number uint32, placed *shards.Map) (*probes, error) {
	list := places(placed, 1)
	st, err := run.Target{Kind: "mongodb", URI: uri}.Open(ctx, asked.Client, store.Config{Database: asked.Database,
		Concern: run.Concern(asked.Durability), Sessions: 2 * len(list), Timeout: asked.Load.Timeout.Std()}, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot open the connections of the probes: %w", err)
	}
	p := &probes{store: st, cancel: func() {}}
	for _, at := range list {
		filter, _ := bson.Marshal(bson.D{{Key: "_id", Value: at.id}}) // cannot fail, as below
		change, _ := bson.Marshal(bson.D{{Key: "$inc", Value: bson.D{{Key: "probes", Value: 1}}},
			{Key: "$set", Value: bson.D{{Key: "probe", Value: true}, {Key: "mark", Value: int64(number)}}}})
		for _, request := range []workload.Request{
			{Verb: workload.Find, Class: workload.NoClass, Collection: seedCollection, Filter: filter, Limit: 1,
				MayBeEmpty: true},
			{Verb: workload.Update, Class: workload.NoClass, Collection: seedCollection,
				Updates: []workload.Statement{{Filter: filter, Update: change, Upsert: true}}},
		} {
			session, err := st.Session(len(p.list))
			if err != nil {
				p.close()
				return nil, fmt.Errorf("cannot open the connections of the probes: %w", err)
			}
			p.list = append(p.list, &prober{session: session, request: request, shard: at.shard,
				timeout: min(probeAtMost, asked.Load.Timeout.Std()), course: probed(request.Writes())})
		}
	}
	return p, nil
}

// The classes of the courses of probes, which no operation has.
const (
	probedReads  = "probes that read"
	probedWrites = "probes that write"
)

func probed(writes bool) course {
	if writes {
		return course{class: probedWrites, shard: -1, writes: true}
	}
	return course{class: probedReads, shard: -1}
}

// ofProbes reports whether a course is that of probes.
func (c *course) ofProbes() bool { return c.class == probedReads || c.class == probedWrites }

// loaded reports whether a course has operations of the load.
func (c *course) loaded() bool {
	return slices.ContainsFunc(c.slices, func(s slice) bool { return s.ok+s.failed > 0 })
}

// begin starts the probes of a load that begins at a time.
func (p *probes) begin(ctx context.Context, began time.Time) {
	if p == nil {
		return
	}
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, one := range p.list {
		p.group.Go(func() { one.run(ctx, began) })
	}
}

// end ends the probes.
func (p *probes) end() {
	if p != nil {
		p.cancel()
		p.group.Wait()
	}
}

// close ends the probes and closes their connections.
func (p *probes) close() {
	if p == nil {
		return
	}
	p.end()
	for _, one := range p.list {
		_ = one.session.Close() // nothing depends on it, as below
	}
	_ = p.store.Close()
}

// courses returns the results of the probes after their end. names are those of the shards, in order.
func (p *probes) courses(names []string) (list []course) {
	if p == nil {
		return nil
	}
	for _, one := range p.list {
		one.course.shard = slices.Index(names, one.shard)
		list = append(list, one.course)
	}
	return list
}

// succeededSince reports whether each prober had a success that was sent after a run time.
func (p *probes) succeededSince(at int64) bool {
	return p == nil || !slices.ContainsFunc(p.list, func(one *prober) bool { return one.last.Load() <= at })
}

func (p *prober) run(ctx context.Context, began time.Time) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	var res store.Result
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		sent := time.Now()
		if sent.Before(began) {
			continue
		}
		p.session.Do(sent.Add(p.timeout), &p.request, &res)
		ended := time.Now()
		if !res.Arrived.IsZero() && res.Arrived.Before(ended) {
			ended = res.Arrived
		}
		p.add(int64(sent.Sub(began)), int64(ended.Sub(began)), &res)
	}
}

// add adds the result of a probe. Times are run time.
func (p *prober) add(sent, ended int64, res *store.Result) {
	one := slice{number: ended / sliceLength, sent: sent}
	if res.Outcome.Success() || res.Outcome == store.NotFound {
		one.probed, one.okFirst, one.okLast = 1, ended, ended
		p.last.Store(sent)
	} else {
		one.missed, one.failFirst, one.failLast, one.hung = 1, ended, ended, res.Reason == store.Timeout
	}
	if n := len(p.course.slices); n > 0 && p.course.slices[n-1].number == one.number {
		p.course.slices[n-1].add(one)
		return
	}
	p.course.slices = append(p.course.slices, one)
}
