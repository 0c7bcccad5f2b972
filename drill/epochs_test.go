package drill

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// serialLoad does one transaction after the other on documents in memory, in the epoch that it is told.
type serialLoad struct {
	keeper  *transactions.Keeper
	length  time.Duration // of an epoch
	streams []workload.Stream
	settle  []func(*workload.Op, *load.Settlement)
	docs    map[int64]isolation.Op
	now     int64
	op      workload.Op
	doc     []byte
}

func newSerialLoad(epochs int) *serialLoad {
	const writers, length = 8, 5 * time.Second
	s := &serialLoad{length: length, docs: map[int64]isolation.Op{},
		keeper: transactions.New(transactions.Options{Mark: 7, Seed: 3, Length: time.Duration(epochs-2) * length,
			Writers: writers})}
	for i := range writers {
		s.streams = append(s.streams, s.keeper.Workload().Stream(i, writers))
		s.settle = append(s.settle, s.keeper.Settle(i))
	}
	return s
}

func (s *serialLoad) enter(epoch int) {
	s.keeper.Begin(time.Now().Add(-time.Duration(epoch)*s.length - s.length/2))
}

func (s *serialLoad) do(i int, outcome store.Outcome) {
	worker := i % len(s.streams)
	s.streams[worker].Next(&s.op)
	for k := range s.op.Requests {
		switch r := &s.op.Requests[k]; r.Verb {
		case workload.Find:
			id, _ := bsoncore.Document(r.Filter).Lookup("_id").AsInt64OK()
			s.doc = s.document(id)
			s.streams[worker].Verify(&s.op, k, s.doc)
		case workload.Update:
			id, _ := bsoncore.Document(r.Updates[0].Filter).Lookup("_id").AsInt64OK()
			v, _ := bsoncore.Document(r.Updates[0].Update).Lookup("$set", "v").AsInt64OK()
			s.docs[id] = isolation.Op{N: s.docs[id].N + 1, ID: isolation.ID(v)}
		}
	}
	s.now += 20
	s.settle[worker](&s.op, &load.Settlement{Outcome: outcome, Failed: -1, Attempts: 1, Sent: s.now - 19,
		Ended: s.now - 9})
}

func (s *serialLoad) document(id int64) []byte {
	dst, doc := s.doc[:0], s.docs[id]
	start, dst := bsoncore.AppendDocumentStart(dst)
	dst = bsoncore.AppendInt64Element(dst, "_id", id)
	dst = bsoncore.AppendInt64Element(dst, "n", doc.N)
	dst = bsoncore.AppendInt64Element(dst, "v", int64(doc.ID))
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}

// registers are those of an epoch, as a read would return them.
func (s *serialLoad) registers(epoch int) (list []isolation.Op, err error) {
	for _, id := range s.keeper.IDs(epoch) {
		s.doc = s.document(id.(int64))
		o, _, err := register(s.keeper, s.doc)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

func (s *serialLoad) end(e *epochs) {
	last := make([][]isolation.Op, s.keeper.Epochs())
	for epoch := range last {
		last[epoch], _ = s.registers(epoch)
	}
	e.end(last)
}

// Closed epochs are judged and released during the load, with the same verdict as after it. One with a transaction
// without an answer, and those that could not be read, wait.
func TestEpochsAreReleased(t *testing.T) {
	const all, each = 8, 300
	var verdicts []isolation.Verdict
	for _, most := range []int{0, 1 << 30} {
		s := newSerialLoad(all)
		e := newEpochs(s.keeper, isolation.StrongSnapshot)
		e.mostHeld = most
		refused := 0
		for epoch := range 6 {
			s.enter(epoch)
			for i := range each {
				outcome := store.OK
				if epoch == 2 && i == 40 {
					outcome = store.Indeterminate
				}
				s.do(i, outcome)
			}
			e.release(func(epoch int) ([]isolation.Op, error) {
				if epoch == 3 && refused < 1 {
					refused++
					return nil, errors.New("no primary")
				}
				return s.registers(epoch)
			})
		}
		if held := s.keeper.Held(); most == 0 && (held > each || len(e.held) != 1 || len(e.confirms) != 4 || refused != 1) {
			t.Errorf("%d transactions of the keeper, %d epochs and %d confirmed, refused %d", held, len(e.held), len(e.confirms), refused)
		}
		s.end(e)
		if e.sum.Transactions != 6*each || e.sum.Forbidden() > 0 {
			t.Errorf("released from %d on: %+v", most, e.sum)
		}
		e.sum.Examples = nil
		verdicts = append(verdicts, e.sum)
	}
	if fmt.Sprint(verdicts[0]) != fmt.Sprint(verdicts[1]) {
		t.Errorf("during the load %+v, after it %+v", verdicts[0], verdicts[1])
	}
}

// What has changed after its epoch was judged is found at the end.
func TestEpochThatChangesLater(t *testing.T) {
	for want, change := range map[isolation.Class]int64{isolation.Lost: -1, isolation.Duplicate: 1} {
		s := newSerialLoad(5)
		e := newEpochs(s.keeper, isolation.StrongSnapshot)
		e.mostHeld = 0
		for epoch := range 2 {
			s.enter(epoch)
			for i := range 200 {
				s.do(i, store.OK)
			}
		}
		e.release(s.registers)
		for _, id := range s.keeper.IDs(0) {
			if d := s.docs[id.(int64)]; d.N > 1 {
				d.N += change
				s.docs[id.(int64)] = d
				break
			}
		}
		s.end(e)
		out := e.result(isolation.StrongSnapshot, "", 0)
		if n, classes := out.Forbidden(); n != 1 || classes != want.String() {
			t.Errorf("%s: %d %s", want, n, classes)
		} else if text := out.Anomalies[0].Examples[0].Text; !strings.Contains(text, "after all of its transactions had ended") {
			t.Error(text)
		}
	}
}

// BenchmarkTenMillion judges ten million transactions by epochs, and reports the most memory that the process had from
// the system. The transactions come from a store in memory, so their load counts, too.
func BenchmarkTenMillion(b *testing.B) {
	const each = 50_000 // as in a load of 2,000 transactions/s for 5,000 s
	for b.Loop() {
		const all = 200
		s := newSerialLoad(all + 2)
		e := newEpochs(s.keeper, isolation.StrongSnapshot)
		var judging time.Duration
		for epoch := range all {
			s.enter(epoch)
			for i := range each {
				s.do(i, store.OK)
			}
			began := time.Now()
			e.release(s.registers)
			judging += time.Since(began)
		}
		began := time.Now()
		s.end(e)
		judging += time.Since(began)
		if e.sum.Transactions != all*each || e.sum.Forbidden() > 0 {
			b.Fatalf("%+v", e.sum)
		}
		b.ReportMetric(all*each/judging.Seconds(), "transactions/s")
	}
	b.ReportMetric(peakMemory(b)/(1<<20), "peak-MB")
}

// peakMemory is the largest resident size of the process, in bytes.
func peakMemory(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Sys)
	}
	lines := strings.Split(string(status), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "VmHWM:") })
	if i < 0 {
		b.Fatal("no VmHWM")
	}
	var kB float64
	if _, err := fmt.Sscanf(lines[i], "VmHWM: %f kB", &kB); err != nil {
		b.Fatal(err)
	}
	return kB * 1024
}
