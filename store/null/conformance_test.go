package null_test

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/storetest"
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
