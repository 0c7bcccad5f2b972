package mongo_test

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/storetest"
)

// TestConformance runs the part of the suite that makes sense for a server that keeps nothing. The
// whole suite runs where there is a real server.
func TestConformance(t *testing.T) {
	responder := listen(t, null.Options{})
	storetest.RunURI(t, responder.URI(), storetest.Caps{Discards: true}, open)
}

func open(ctx context.Context, cfg store.Config) (store.Store, error) {
	return mongo.Open(ctx, cfg, mongo.Options{})
}

func listen(t testing.TB, opts null.Options) *null.Responder {
	t.Helper()
	r, err := null.Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// connect opens the driver's store and one session.
func connect(t testing.TB, uri string, c store.Concern, opts mongo.Options) (*mongo.Store, store.Session) {
	t.Helper()
	s, err := mongo.Open(t.Context(), store.Config{Target: uri, Database: "ycsb", Concern: c, Sessions: 4,
		Timeout: 10 * time.Second}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	return s, session
}
