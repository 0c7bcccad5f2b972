package capture

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// counting is a server that counts what clients and members do per second.
type counting struct {
	host                         string
	began                        time.Time
	finds, updates, bursts, feed float64
	sent, received               float64
	dies, restarts               time.Duration
}

func (c *counting) RunCommand(_ context.Context, _ string, cmd []byte) ([]byte, error) {
	up := time.Since(c.began)
	first, _ := bson.Raw(cmd).IndexErr(0)
	if c.dies > 0 && up > c.dies {
		return nil, errors.New("connection refused")
	}
	if c.restarts > 0 && up >= c.restarts {
		up -= c.restarts
	}
	s := up.Seconds() + 100
	if c.restarts > 0 && time.Since(c.began) >= c.restarts {
		s = up.Seconds()
	}
	n := func(rate float64) int64 { return int64(math.Round(rate * s)) }
	if first.Key() == "top" {
		return bson.Marshal(bson.D{{Key: "totals", Value: bson.D{{Key: "local.oplog.rs", Value: bson.D{
			{Key: "getmore", Value: bson.D{{Key: "time", Value: n(1000 * c.feed)}, {Key: "count", Value: n(c.feed)}}}}}}}})
	}
	burst := int64(0)
	if up > 5*time.Second { // in the second step
		burst = int64(c.bursts)
	}
	find := n(c.finds) + n(c.received) + burst
	d := func(pairs ...any) bson.D {
		var out bson.D
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
		}
		return out
	}
	return bson.Marshal(d("host", c.host, "uptimeMillis", up.Milliseconds()+1000,
		"opcounters", d("insert", 0, "query", find, "update", n(c.updates), "delete", 0, "getmore", n(c.feed), "command", n(50)),
		"mirroredReads", d("sent", n(c.sent)),
		"opLatencies", d("reads", d("ops", find+n(c.feed), "latency", 200*find+n(1000*c.feed)),
			"writes", d("ops", n(c.updates), "latency", n(9000*c.updates))),
		"metrics", d("commands", d("find", d("total", find)), "repl", d("network", d("oplogGetMoresProcessed", d("num", n(c.feed)))))))
}

func present(t *testing.T, list ...*counting) (p Present, err error) {
	synctest.Test(t, func(t *testing.T) {
		var all []*meter
		for _, c := range list {
			c.began = time.Now()
			all = append(all, &meter{address: c.host, client: server.Commander(c)})
		}
		p, err = readPresent(t.Context(), all, time.Minute)
		if slices.Contains(all, nil) {
			t.Error("a server that was opened is not in the list of those to close")
		}
	})
	return p, err
}

func near(x, want float64) bool { return math.Abs(x-want) <= 0.01*want+0.05 }

// The operations of clients are counted on all members. The reads of the oplog, mirrored reads and commands are not.
func TestPresentLoadOfASet(t *testing.T) {
	p, err := present(t, &counting{host: "a:1", finds: 2000, updates: 1000, feed: 900, sent: 40},
		&counting{host: "b:1", finds: 100, received: 20}, &counting{host: "c:1", received: 20})
	if err != nil {
		t.Fatal(err)
	}
	if !near(p.Kinds["find"], 2100) || !near(p.Kinds["update"], 1000) || len(p.Kinds) != 2 || !near(p.Rate(), 3100) {
		t.Errorf("kinds %v, together %v", p.Kinds, p.Rate())
	}
	if !near(p.Left.Mirrored, 40) || !near(p.Left.Replicating, 900) || !near(p.Left.Commands, 150) {
		t.Errorf("not counted: %+v", p.Left)
	}
	if r := p.Reads.Microseconds(); r < 195 || r > 205 || p.Writes != 9*time.Millisecond {
		t.Errorf("reads take %v, writes %v", p.Reads, p.Writes)
	}
	if p.Period != time.Minute || len(p.Servers) != 3 || len(p.Unread)+len(p.Restarted) > 0 {
		t.Errorf("%+v", p)
	}
}

func TestPresentLoadOfAnIdleSet(t *testing.T) {
	p, err := present(t, &counting{host: "a:1", feed: 2}, &counting{host: "b:1"})
	if err != nil || p.Rate() != 0 || p.Busiest != 0 || p.Reads != 0 || p.Writes != 0 {
		t.Errorf("an idle set has %v operations/s: %+v, %v", p.Rate(), p, err)
	}
}

func TestPresentLoadHasItsBusiestStep(t *testing.T) {
	p, err := present(t, &counting{host: "a:1", finds: 100, bursts: 3000})
	if err != nil || !near(p.Rate(), 150) || !near(p.Busiest, 700) {
		t.Errorf("%v operations/s, busiest %v, %v", p.Rate(), p.Busiest, err)
	}
}

// A member that is away, or ends during the reading, is named; so is one that was restarted. A router with two names is
// counted once.
func TestPresentLoadOfAPart(t *testing.T) {
	p, err := present(t, &counting{host: "a:1", finds: 1000}, &counting{host: "b:1", finds: 500, dies: 22 * time.Second},
		&counting{host: "a:1", finds: 1000})
	if err != nil || !near(p.Rate(), 1000) || len(p.Unread) != 1 || !strings.HasPrefix(p.Unread[0], "b:1: ") {
		t.Errorf("%v operations/s, unread %v, %v", p.Rate(), p.Unread, err)
	}
	p, err = present(t, &counting{host: "a:1", finds: 1000, restarts: 30 * time.Second})
	if err != nil || len(p.Restarted) != 1 || p.Rate() > 1001 {
		t.Errorf("%v operations/s, restarted %v, %v", p.Rate(), p.Restarted, err)
	}
	if _, err = present(t, &counting{host: "a:1", dies: time.Nanosecond}); err == nil {
		t.Error("a set without a server has a load")
	}
}
