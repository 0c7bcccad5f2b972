package ledger

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// thirds puts documents on three shards by a checksum of their _id, and of some it does not know.
type thirds struct{}

func (thirds) OfID(_ string, id []byte) int { return int(crc32.ChecksumIEEE(id)%4) - 1 }

var shardNames = []string{"shard1", "shard2", "shard3"}

// lossesByShard makes n writes of a workload, of which those to shard2 are lost from the given one on, and audits them
// after the ledger has been handed over.
func lossesByShard(t *testing.T, n, from int,
	make func(l *Ledger, w *ledgertest.World) workload.Workload) (*record.LedgerResult, []record.LedgerShard) {
	t.Helper()
	l := New(Options{Run: 5, Seed: 3, Writers: 1})
	l.Place(thirds{}, len(shardNames))
	w := ledgertest.New(rand.New(rand.NewPCG(1, 1)), nil)
	wl := make(l, w)
	s := wl.Stream(0, 1)
	observe := l.Observe(0)
	want := []record.LedgerShard{{LossWindow: -1}, {Shard: "shard1", LossWindow: -1}, {Shard: "shard2", LossWindow: -1},
		{Shard: "shard3", LossWindow: -1}}
	var op workload.Op
	fault := int64(n) * int64(time.Millisecond)
	for i := range n {
		s.Next(&op)
		at := int64(i) * int64(time.Millisecond)
		for k := range op.Requests {
			r := &op.Requests[k]
			for _, doc := range r.Docs {
				shard := &want[thirds{}.OfID("", idOf(doc))+1]
				shard.Acknowledged++
				if i >= from && shard.Shard == "shard2" {
					shard.Lost++
					shard.LossWindow = max(shard.LossWindow, fault-at)
					continue
				}
				w.Insert(ledgertest.Unmarshal(doc), ledgertest.Fine)
			}
			for _, u := range r.Updates {
				shard := &want[thirds{}.OfID("", idOf(u.Filter))+1]
				shard.Acknowledged++
				if i >= from && shard.Shard == "shard2" {
					shard.Lost++
					shard.LossWindow = max(shard.LossWindow, fault-at)
					continue
				}
				w.Update(u, ledgertest.Fine)
			}
		}
		observe(&op, &load.Settlement{Outcome: store.OK, Confirmed: len(op.Requests), Failed: -1,
			Attempts: len(op.Requests), Ended: at})
		s.Done(&op, true)
	}
	back := New(Options{Run: 5, Seed: 3})
	take(t, back.Remote(0), l)
	back.Place(thirds{}, len(shardNames))
	return audited(t, back, AuditOptions{Workload: wl, Final: &ledgertest.Reader{Source: FinalRead, W: w},
		Faults: []Fault{{fault, fault, fault, nil}},
		Shards: shardNames}), want
}

// Each write of the own workload counts on its shard, and so does its loss.
func TestLossesByShard(t *testing.T) {
	got, want := lossesByShard(t, 2000, 1900, func(l *Ledger, _ *ledgertest.World) workload.Workload {
		own, err := l.Workload(Params{Insert: 2, Update: 1})
		if err != nil {
			t.Fatal(err)
		}
		return own
	})
	if diff := cmp.Diff(want, got.Shards); diff != "" || want[2].Lost == 0 {
		t.Error(diff)
	}
	for _, w := range got.Lost {
		if w.Shard != "shard2" {
			t.Fatalf("%+v is lost, and only writes to shard2 were", w)
		}
	}
}

// The inserts of another workload are told one by one. Its updates are counted by groups of documents, each of one
// shard: when the lost ones were acknowledged is not known.
func TestLossesOfAnotherWorkloadByShard(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"inserts": {"insertproportion": "1", "updateproportion": "0", "readproportion": "0"},
		"updates": {"insertproportion": "0", "updateproportion": "1", "readproportion": "0"},
	} {
		got, want := lossesByShard(t, 1500, 1400, func(l *Ledger, w *ledgertest.World) workload.Workload {
			inner, err := workload.Open(workload.Spec{Name: "core", Records: 50, Seed: 3, Run: 1, Params: params})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := load.Fill(t.Context(), load.FillConfig{Parallel: 1, SkipCount: true}, inner, w, nowhere{}); err != nil {
				t.Fatal(err)
			}
			w.Loaded = true
			return l.Wrap(inner)
		})
		if name == "updates" {
			want[2].LossWindow = -1
		}
		if diff := cmp.Diff(want, got.Shards); diff != "" || want[2].Lost == 0 {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
