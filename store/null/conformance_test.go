package null_test

import (
	"context"
	"testing"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/storetest"
	"github.com/plimsoll-bench/plimsoll/store/wire"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		s, err := null.Open(store.Config{}, null.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, storetest.Caps{Discards: true})
}

// TestResponderConformance runs what of the suite makes sense for a responder through both clients,
// once as a standalone server and once as a replica set.
func TestResponderConformance(t *testing.T) {
	clients := map[string]func(context.Context, store.Config) (store.Store, error){
		"driver": func(ctx context.Context, cfg store.Config) (store.Store, error) {
			return mongo.Open(ctx, cfg, mongo.Options{})
		},
		"wire": func(ctx context.Context, cfg store.Config) (store.Store, error) { return wire.Open(ctx, cfg) },
	}
	for name, open := range clients {
		for _, set := range []string{"", "rs"} {
			t.Run(name+set, func(t *testing.T) {
				r, err := null.Listen(null.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				r.SetRole(null.Role{SetName: set, Primary: r.Addr(), Term: 1})
				storetest.RunURI(t, r.URI(), storetest.Caps{Discards: true}, open)
			})
		}
	}
}
