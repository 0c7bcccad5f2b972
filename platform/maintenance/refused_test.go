package maintenance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform/command"
	"github.com/plimsoll-bench/plimsoll/platform/maintenance"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A primary without another member that may be elected refuses to step down. That is an error with the reason, and the
// event did not take place. With one, it takes place.
func TestStepDownRefused(t *testing.T) {
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 2)
	p, err := command.New(command.Options{URI: set.URI, Journals: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	d := maintenance.On(maintenance.Deployment{Platform: p, URI: set.URI,
		Identity: server.Identity{Kind: server.Mongod, Hello: server.Hello{SetName: "rs0"}}})
	for _, refused := range []bool{false, true} {
		if refused {
			forbidElection(t, set.URI)
		}
		i, err := d.Fault(spec.Fault{Action: spec.ParseAction("step-down:primary")}, 0)
		if err != nil {
			t.Fatal(err)
		}
		known, err := i.Inject(t.Context())
		const why = "did not step down: within 10 s no secondary had caught up that may be elected"
		if (err != nil) != refused || known.Hit == refused || known.Injected() == refused ||
			err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("refused %v: %+v, %v", refused, known, err)
		}
	}
}

// forbidElection makes the secondary a member that cannot be elected.
func forbidElection(t *testing.T, uri string) {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Disconnect(context.Background()) }()
	type member struct {
		ID       int32 `bson:"_id"`
		Host     string
		Priority int32
	}
	var hello struct{ Primary string }
	var now struct {
		Config struct {
			ID      string `bson:"_id"`
			Version int32
			Members []member
		}
	}
	admin := c.Database("admin")
	err = errors.Join(admin.RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello),
		admin.RunCommand(t.Context(), bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&now))
	now.Config.Version++
	for i := range now.Config.Members {
		m := &now.Config.Members[i]
		m.Priority = 0
		if m.Host == hello.Primary {
			m.Priority = 1
		}
	}
	err = errors.Join(err, admin.RunCommand(t.Context(), bson.D{{Key: "replSetReconfig", Value: now.Config}}).Err())
	if err != nil {
		t.Fatal(err)
	}
}
