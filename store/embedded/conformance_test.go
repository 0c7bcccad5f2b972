package embedded

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/storetest"
)

func TestConformance(t *testing.T) {
	with := func(c store.Concern) func(t *testing.T) store.Store {
		return func(t *testing.T) store.Store { return open(t, t.TempDir(), c, options{}) }
	}
	t.Run("unsynced", func(t *testing.T) {
		storetest.Run(t, with(store.Concern{W: "1"}), storetest.Caps{
			Unacknowledged: with(store.Concern{W: "0"})})
	})
	t.Run("synced", func(t *testing.T) { storetest.Run(t, with(journaled()), storetest.Caps{}) })
}
