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

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/record"
)

const (
	viewEvery   = 100 * time.Millisecond
	viewTimeout = time.Second
	// viewHeartbeat is the shortest that the driver allows.
	viewHeartbeat = 500 * time.Millisecond
)

// view is the target as an idle client sees it: the official driver without load. It reports when the primary
// disappears and when a primary is there again.
//
// In a replica set the driver's monitors know the primary. Behind a single address, such as a gateway of documentdb,
// they do not, so the view reads a document ten times a second, which the primary has to answer.
type view struct {
	uri, database string
	tell          func(kind, text string, data map[string]string)

	mu      sync.Mutex
	sees    seen
	missing bool              // the primary, now
	primary string            // the last one that was known
	moved   bool              // it was not always the same
	gone    []record.LabEvent // when it disappeared
	over    bool              // nothing is reported any longer
}

// seen is what the driver takes the target for.
type seen int

const (
	seesNothing seen = iota // yet
	seesSet                 // a replica set, whose primary it knows
	seesServer              // a single server, which may be a gateway to the primary
	seesRouters             // of a sharded cluster, which hide the primaries
)

// The kinds of events of a view.
const (
	primaryGone = "primary-gone"
	primaryBack = "primary-back"
)

// follow returns when ctx ends.
func (v *view) follow(ctx context.Context) {
	o := options.Client().ApplyURI(v.uri).SetAppName("plimsoll drill").SetHeartbeatInterval(viewHeartbeat).
		SetMinPoolSize(1).SetMaxPoolSize(1).
		SetDialer(&dial.Dialer{}).SetServerSelectionTimeout(viewTimeout).SetRetryReads(false).
		SetServerMonitor(&event.ServerMonitor{TopologyDescriptionChanged: v.changed})
	c, err := mongo.Connect(o)
	if err != nil {
		return // the load reports why the target cannot be reached
	}
	defer func() {
		v.mu.Lock()
		v.over = true // its own end makes the driver forget the primary
		v.mu.Unlock()
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), viewTimeout)
		defer cancel()
		_ = c.Disconnect(bounded)
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

// probe reads a document from the primary behind a single server.
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
		v.report(false, "the primary answers an idle client again", nil)
	case mongo.IsTimeout(err):
		v.report(true, fmt.Sprintf("the primary has not answered an idle client for %v", viewTimeout), nil)
	default:
		v.report(true, "an idle client gets no answer from the primary: "+oneLine(err), nil)
	}
}

// changed handles a change of what the driver knows.
func (v *view) changed(e *event.TopologyDescriptionChangedEvent) {
	was, is := primaryAmong(e.PreviousDescription), primaryAmong(e.NewDescription)
	v.mu.Lock()
	if v.over {
		v.mu.Unlock()
		return
	}
	v.sees = seesOf(e.NewDescription, v.sees)
	sees := v.sees
	if is != "" {
		v.moved = v.moved || v.primary != "" && v.primary != is
		v.primary = is
	}
	v.mu.Unlock()
	if sees == seesSet && was != is {
		if was != "" {
			text := "a separate driver sees no primary any more. It was " + was
			if is != "" {
				text = fmt.Sprintf("a separate driver sees %s as primary instead of %s", is, was)
			}
			v.report(true, text, map[string]string{"from": was, "to": is})
		}
		if is != "" {
			v.report(false, "a separate driver sees "+is+" as primary", map[string]string{"from": was, "to": is})
		}
	}
}

// report writes an event if the view changed. A view begins as if there were a primary, so the first sight of it is no
// event.
func (v *view) report(missing bool, text string, data map[string]string) {
	v.mu.Lock()
	changed := v.missing != missing
	v.missing = missing
	if changed && missing {
		v.gone = append(v.gone, record.LabEvent{Kind: primaryGone, Time: time.Now(), Text: text, Data: data})
	}
	v.mu.Unlock()
	switch {
	case changed && missing:
		v.tell(primaryGone, text, data)
	case changed:
		v.tell(primaryBack, text, data)
	}
}

// seesOf is what the driver takes a target for, by its servers; the same as before as long as none answers.
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

// primaryAmong returns the address of the primary, "" if none is known.
func primaryAmong(d event.TopologyDescription) string {
	for _, s := range d.Servers {
		if s.Kind == "RSPrimary" {
			return s.Addr.String()
		}
	}
	return ""
}
