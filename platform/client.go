package platform

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
)

// Client is a client of a deployment that knows which of its commands no server has answered yet, so that a wait can
// say what does not answer.
type Client struct {
	*mongo.Client
	uri   string
	mu    sync.Mutex
	calls map[int64]call
}

// call is a command without an answer.
type call struct {
	name, address string
	since         time.Time
}

// appName is the name of this package's clients and of those of drills, as servers show it.
const appName = "plimsoll drill"

// Connect returns a client with a name that servers show. Nothing is sent before the first command.
func Connect(uri string, o *options.ClientOptions) (*Client, error) {
	c := &Client{uri: uri, calls: map[int64]call{}}
	var err error
	c.Client, err = mongo.Connect(o.ApplyURI(uri).SetAppName(appName).SetDialer(&dial.Dialer{}).
		SetMonitor(&event.CommandMonitor{Started: c.started,
			Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { c.ended(e.RequestID) },
			Failed:    func(_ context.Context, e *event.CommandFailedEvent) { c.ended(e.RequestID) }}))
	return c, err
}

// closeWithin bounds the end of connections on which nothing is under way.
const closeWithin = 5 * time.Second

// Close ends the connections.
func (c *Client) Close() { disconnect(c.Client) }

func disconnect(c *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = c.Disconnect(ctx)
}

func (c *Client) started(_ context.Context, e *event.CommandStartedEvent) {
	address, _, _ := strings.Cut(e.ConnectionID, "[")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[e.RequestID] = call{e.CommandName, address, time.Now()}
}

func (c *Client) ended(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// oldest returns the commands without an answer, the oldest of each server.
func (c *Client) oldest() (list []call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b call) int { return a.since.Compare(b.since) })
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(one call) bool {
		before := seen[one.address]
		seen[one.address] = true
		return before
	})
}

// Doing says which servers have not answered which commands, and what these servers do now: their currentOp, over
// another connection. It is "" if all are answered. ctx bounds it.
func (c *Client) Doing(ctx context.Context) string {
	var parts []string
	for _, one := range c.oldest() {
		parts = append(parts, fmt.Sprintf("%s has not answered %s for %.0f s. %s", one.address, one.name,
			time.Since(one.since).Seconds(), c.operations(ctx, one.address)))
	}
	return strings.Join(parts, ". ")
}

// mostShown bounds the operations of a server in one text, and mostText the bytes of an error.
const (
	mostShown = 3
	mostText  = 200
)

// operations says what a server does for drills.
func (c *Client) operations(ctx context.Context, address string) string {
	var all []server.Operation
	uri, err := run.MemberURI(c.uri, address)
	if err == nil {
		var asking *mongo.Client
		asking, err = mongo.Connect(options.Client().ApplyURI(uri).SetAppName("plimsoll query").SetDialer(&dial.Dialer{}))
		if err == nil {
			defer disconnect(asking)
			all, err = operationsOf(ctx, server.Driver(asking))
		}
	}
	switch {
	case err != nil && len(all) == 0:
		return "It does not say what it does: " + visible.Bounded(visible.Line(redact.InText(err.Error())), mostText)
	case len(all) == 0:
		return "It performs no operation of this drill"
	}
	slices.SortStableFunc(all, func(a, b server.Operation) int { return cmp.Compare(b.Lasts, a.Lasts) })
	var texts []string
	for _, o := range all[:min(len(all), mostShown)] {
		texts = append(texts, o.String())
	}
	return "It performs " + strings.Join(texts, "; ")
}

// operationsOf asks a server for its own operations, and a router for those of its shards too.
func operationsOf(ctx context.Context, c server.Commander) ([]server.Operation, error) {
	all, err := server.QueryOperations(ctx, c, appName, false)
	if err != nil {
		return nil, err
	}
	hello, err := server.QueryHello(ctx, c, server.Version{})
	if err != nil || !hello.Router() {
		return all, err
	}
	of, err := server.QueryOperations(ctx, c, appName, true)
	return append(all, of...), err
}
