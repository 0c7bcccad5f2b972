package drill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
)

// How a view looks at what it cannot follow.
const (
	viewEvery   = 100 * time.Millisecond
	viewTimeout = time.Second
	// viewHeartbeat is the shortest that the driver allows.
	viewHeartbeat = 500 * time.Millisecond
)

// view is the target as a client sees it that makes no load: the official driver with nothing to do but to know which
// server is the primary. It tells when the primary goes from its view, and when one is there again.
//
// Of a replica set that is what the driver's monitors say. Behind an address that does not tell who is the primary,
// such as a gateway of documentdb, the driver sees the address only; there the view asks for a document, which the
// primary has to answer.
type view struct {
	uri, database string
	tell          func(kind, text string, data map[string]string)

	mu   sync.Mutex
	sees seen
	gone bool
	// primary is the last one that was known, and moved that it was not always the same.
	primary string
	moved   bool
	list    []record.LabEvent // when it went
}

// seen is how the driver takes the target.
type seen int

const (
	seesNothing seen = iota // yet
	seesSet                 // a replica set, whose primary it knows
	seesServer              // one server, which may stand before the primary
	seesRouters             // of a sharded cluster: no primary is in view
)

// primaryBack is the kind of the event by which a view tells that there is a primary again.
const primaryBack = "primary-back"

// follow looks until ctx ends.
func (v *view) follow(ctx context.Context) {
	o := options.Client().ApplyURI(v.uri).SetAppName("plimsoll drill").SetHeartbeatInterval(viewHeartbeat).SetMinPoolSize(
		1).SetMaxPoolSize(1).
		SetServerSelectionTimeout(viewTimeout).SetRetryReads(false).
		SetServerMonitor(&event.ServerMonitor{TopologyDescriptionChanged: v.changed})
	c, err := mongo.Connect(o)
	if err != nil {
		return // the load says why the target cannot be reached
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), viewTimeout)
		defer cancel()
		_ = c.Disconnect(bounded) // nothing of it is needed any more
	}()
	ticker := time.NewTicker(viewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		v.probe(ctx, c)
	}
}

// probe asks the primary behind a single server for a document.
func (v *view) probe(ctx context.Context, c *mongo.Client) {
	v.mu.Lock()
	sees := v.sees
	v.mu.Unlock()
	if sees != seesServer {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	err := c.Database(v.database).Collection(seedCollection).FindOne(bounded, bson.D{},
		options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err()
	switch {
	case ctx.Err() != nil:
	case err == nil || err == mongo.ErrNoDocuments:
		v.turn(false, "the primary answers a client that only looks", nil)
	case mongo.IsTimeout(err):
		v.turn(true, fmt.Sprintf("the primary does not answer a client that only looks, for %v", viewTimeout), nil)
	default:
		v.turn(true, "a client that only looks gets no answer from the primary: "+store.Redact(store.OneLine(err.Error())), nil)
	}
}

// changed follows what the driver knows.
func (v *view) changed(e *event.TopologyDescriptionChangedEvent) {
	was, is := primaryAmong(e.PreviousDescription), primaryAmong(e.NewDescription)
	v.mu.Lock()
	v.sees = seesOf(e.NewDescription, v.sees)
	sees := v.sees
	if is != "" {
		v.moved = v.moved || v.primary != "" && v.primary != is
		v.primary = is
	}
	v.mu.Unlock()
	if sees == seesSet && was != is {
		if was != "" {
			v.turn(true, goneText(was, is), map[string]string{"from": was, "to": is})
		}
		if is != "" {
			v.turn(false, is+" is the primary in the driver's view", map[string]string{"from": was, "to": is})
		}
	}
}

// goneText says how a primary went from the driver's view.
func goneText(was, is string) string {
	if is == "" {
		return fmt.Sprintf("%s is the primary no more in the driver's view, and no other is", was)
	}
	return fmt.Sprintf("%s is the primary no more in the driver's view: %s is", was, is)
}

// turn tells when the view changes. Whoever saw no primary from the beginning has lost none.
func (v *view) turn(gone bool, text string, data map[string]string) {
	v.mu.Lock()
	turned := v.gone != gone
	v.gone = gone
	if turned && gone {
		v.list = append(v.list, record.LabEvent{Kind: primaryGone, Time: time.Now(), Text: text, Data: data})
	}
	v.mu.Unlock()
	switch {
	case turned && gone:
		v.tell(primaryGone, text, data)
	case turned:
		v.tell(primaryBack, text, data)
	}
}

// seesOf is how the driver takes a target by its servers; what it took it for, as long as none answers.
func seesOf(d event.TopologyDescription, before seen) seen {
	for _, s := range d.Servers {
		switch s.Kind {
		case "RSPrimary", "RSSecondary", "RSArbiter", "RSMember", "RSGhost":
			return seesSet
		case "Mongos":
			return seesRouters
		case "Standalone":
			return seesServer
		}
	}
	return before
}

// primaryAmong is the address of the primary of a replica set, "" if none is known.
func primaryAmong(d event.TopologyDescription) string {
	for _, s := range d.Servers {
		if s.Kind == "RSPrimary" {
			return s.Addr.String()
		}
	}
	return ""
}

// watchPrimary follows the primary in a client's view until the returned function is called.
func (r *round) watchPrimary(ctx context.Context) (stop func()) {
	if r.uri == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v := &view{uri: r.uri, database: r.drill.spec.Run.Database, tell: r.tell}
	var group sync.WaitGroup
	group.Go(func() { v.follow(ctx) })
	return func() {
		cancel()
		group.Wait()
		v.mu.Lock()
		defer v.mu.Unlock()
		r.gonePrimaries, r.sees = v.list, v.sees
		r.changed = r.changed || v.moved
	}
}

// views keeps of what a client saw what belongs on the timeline: for each fault the first time that the primary was
// gone. What was slow, or failed on a disk, need not have taken the primary away; then a look that failed is no more
// than that.
func (r *round) views(c clock) []record.LabEvent {
	if !r.changed && !r.breaks.tookPrimary() {
		return nil
	}
	var list []record.LabEvent
	seen := map[int]bool{}
	for _, e := range r.gonePrimaries {
		at := c.at(e.Time)
		if !broke(r.result.Faults) || at < r.result.Faults[0].Injected {
			continue
		}
		if fault := lastBefore(r.result.Faults, at); !seen[fault] {
			seen[fault] = true
			list = append(list, e)
		}
	}
	return list
}
