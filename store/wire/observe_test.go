package wire

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

// The command for the statistics excludes large sections. The context bounds the wait for a slow server.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, slow := newNetwork(t), false
		n.add("h:27017", &fake{hello: standalone, answer: func(c *call) any {
			switch {
			case c.name == "serverStatus" && slow:
				return nil
			case c.name == "serverStatus":
				if x, ok := c.body.Lookup("sharding").AsInt64OK(); !ok || x != 0 {
					t.Errorf("the server was asked for everything: %v", c.body)
				}
				return bson.D{{Key: "connections", Value: bson.D{{Key: "current", Value: int32(7)}}}, {Key: "ok", Value: 1.0}}
			case c.name == "replSetGetStatus":
				return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(76)}, {Key: "codeName", Value: "NoReplicationEnabled"}, {Key: "errmsg", Value: "not running with --replSet"}}
			}
			return bson.D{{Key: "ok", Value: 1.0}}
		}})
		s, err := n.open(store.Config{Target: "mongodb://h/"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		status, err := server.QueryStatistics(t.Context(), s)
		if current, ok := status.Lookup("connections", "current").AsInt64OK(); err != nil || !ok || current != 7 {
			t.Errorf("status %v: %v", status, err)
		}
		var refused *store.ServerError
		if _, err := server.QuerySet(t.Context(), s); !errors.As(err, &refused) || refused.Code != 76 {
			t.Errorf("a server without a replica set: %v", err)
		}
		n.set(func() { slow = true })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := server.QueryStatistics(ctx, s); err == nil || errors.As(err, &refused) ||
			time.Since(begun) > 6*time.Second {
			t.Errorf("a server that does not answer: %v after %v", err, time.Since(begun))
		}
	})
}
