package drill

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// The final read does not begin before a majority has confirmed a write, and what nobody answers for is not gone.
func TestFinalReadIsOfNow(t *testing.T) {
	var confirms, finds atomic.Bool
	var refused atomic.Int32
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	server, err := null.Listen(null.Options{Fail: func(_ uint64, command string) *null.Failure {
		switch {
		case command == "insert" && !confirms.Load():
			if refused.Add(1) == 2 { // the read has reported the first
				cancel()
			}
			return &null.Failure{Form: null.ConcernFailure, Code: 64, Name: "WriteConcernTimeout", Message: "waiting for replication timed out", Docs: 1}
		case command == "find" && !finds.Load():
			return &null.Failure{Form: null.CommandFailure, Code: 8, Name: "UnknownError", Message: "no"}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	a := &auditor{drill: &runner{}, target: &target{}, database: "d"}
	if s, err := a.open(short, finalRead, server.URI(), false); err == nil || !strings.Contains(err.Error(), "confirms no write before the read") {
		t.Errorf("with no majority the final read is %+v (%v)", s, err)
	}
	confirms.Store(true)
	s, err := a.open(t.Context(), finalRead, server.URI(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if s.session == nil {
		t.Error("shards that have not seen the write may answer as of before")
	}
	seeds, err := writeSeeds(t.Context(), server.URI(), "d", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer seeds.close()
	if n, err := seeds.found(t.Context(), s); err == nil {
		t.Errorf("a server that does not answer has %d of the seed documents", n)
	}
	finds.Store(true)
	if n, err := seeds.found(t.Context(), s); err != nil || n != len(seeds.ids) {
		t.Errorf("%d of %d seed documents are there (%v)", n, len(seeds.ids), err)
	}
}

// The moment at which a fault took effect has limits: those of the injection, of a witness, of the reaction of a
// person.
func TestTookEffect(t *testing.T) {
	const second = int64(time.Second)
	stopped := &record.DrillEffect{OutageFrom: 12 * second}
	for name, c := range map[string]struct {
		f        record.DrillFault
		all      *record.DrillEffect
		external bool
		want     ledger.Fault
	}{
		"confirmed": {record.DrillFault{Injected: 10 * second, Done: 11 * second}, nil, false,
			ledger.Fault{Earliest: 10 * second, At: 10 * second, Latest: 11 * second}},
		"operations stopped": {record.DrillFault{Injected: 10 * second, Done: 13 * second}, stopped, false,
			ledger.Fault{Earliest: 10 * second, At: 12 * second, Latest: 13 * second}},
		"operations went on": {record.DrillFault{Injected: 10 * second, Done: 11 * second}, stopped, false,
			ledger.Fault{Earliest: 10 * second, At: 11 * second, Latest: 11 * second}},
		"a witness saw it later": {record.DrillFault{Injected: 10 * second, Done: 11 * second, Seen: 15 * second}, stopped, false,
			ledger.Fault{Earliest: 10 * second, At: 12 * second, Latest: 15 * second}},
		"marked by hand": {record.DrillFault{Injected: 10 * second, Done: 10 * second}, nil, true,
			ledger.Fault{Earliest: 9 * second, At: 10 * second, Latest: 11 * second}},
	} {
		if got := tookEffect(c.f, c.all, c.external); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
