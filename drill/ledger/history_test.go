package ledger

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

var seedFlag = flag.Uint64("ledger.seed", 0, "seed of the first history; 0 chooses one by the clock")

// firstSeed returns the seed of the first history, and prints it.
func firstSeed(t testing.TB) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("first seed %d: repeat with -ledger.seed=%d", seed, seed)
	return seed
}

// nowhere is a sink for what a run measures.
type nowhere struct{}

func (nowhere) Interval(*measure.Interval) error { return nil }
func (nowhere) Event(measure.Event) error        { return nil }

// drive runs a workload against a world.
func drive(t testing.TB, l *Ledger, w workload.Workload, st store.Store, workers int, operations int64) load.Report {
	t.Helper()
	report, err := load.Run(context.Background(), load.Config{Workers: workers, Operations: operations,
		Timeout: 30 * time.Second, Observe: l.Observe}, w, st, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// history is one seeded run of the own workload in which everything goes wrong, with random chances. It returns what
// was found.
func history(t *testing.T, seed uint64) *record.LedgerResult {
	rng := rand.New(rand.NewPCG(seed, 1))
	chances := map[ledgertest.Mishap]float64{}
	for m := ledgertest.Lose; m < ledgertest.Mishaps; m++ {
		if m != ledgertest.Hang && rng.IntN(3) > 0 {
			chances[m] = rng.Float64() * 0.06
		}
	}
	world := ledgertest.New(rng, chances)
	world.Loaded = true
	workers := 1 + rng.IntN(8)
	l := New(Options{Run: uint32(seed), Seed: seed, Writers: workers, First: rng.IntN(100)})
	own, err := l.Workload(Params{Payload: 1 + rng.IntN(60)})
	if err != nil {
		t.Fatal(err)
	}
	operations := int64(100 + rng.IntN(700))
	l = travelled(t, l, rng, func() { drive(t, l, own, world, workers, operations) })
	for _, undo := range world.Rolling {
		undo()
	}
	forge(world, rng, l, own.(*ownWorkload))
	member := &ledgertest.Reader{Source: "b", W: world, Without: map[string]bool{}}
	diverge(world, rng, member)
	broken := &ledgertest.Reader{Source: "c", W: world, Most: 1 + rng.IntN(len(world.Docs))}
	opts := AuditOptions{Workload: own, Members: []Source{member, broken}, Faults: []Fault{{1 << 40, 1 << 40, 1 << 40,
		nil}}, MostLost: 1 << 20}
	if final := lastRead(world, rng, seed); final != nil {
		opts.Final = final
	}
	result, err := l.Audit(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if !world.Final.Broke {
		contents(world, t, seed, member, result)
	}
	judgeWorld(world, t, seed, result)
	for _, r := range result.Reads {
		if never := r.State == record.MemberNeverRead; r.Source != FinalRead &&
			never != (world.Final.Broke || r.Source == "c" && broken.Broke) {
			t.Errorf("seed %d: the state of member %s is %q", seed, r.Source, r.State)
		}
	}
	return result
}

// lastRead chooses how the final read of a history goes: to its end, until the connection breaks, or, where nil is
// returned, not at all.
func lastRead(w *ledgertest.World, rng *rand.Rand, seed uint64) *ledgertest.Reader {
	w.Final = &ledgertest.Reader{Source: FinalRead, W: w, Saw: map[string]bool{}}
	switch seed % 5 {
	case 0:
		w.Final.Broke = true
		return nil
	case 1:
		w.Final.Most = 1 + rng.IntN(len(w.Docs))
	}
	return w.Final
}

// forge adds up to three documents that carry the proof of this run though nobody ever attempted what they stand for:
// of writers that there are and of some that there never were. As many documents of another run, of which nothing may
// be said, lie beside them.
func forge(w *ledgertest.World, rng *rand.Rand, l *Ledger, own *ownWorkload) {
	for range rng.IntN(4) {
		number, next := 5000+rng.IntN(100), [kinds]int64{}
		if all := l.writers(); rng.IntN(2) == 0 {
			known := all[rng.IntN(len(all))]
			number, next = known.number, [kinds]int64{known.inserts.next, known.updates.next}
		}
		for run := range uint32(2) {
			run += l.opts.Run
			k := kind(rng.IntN(int(kinds)))
			key, added := forgeOne(w, own, run, number, k, next[k]+rng.Int64N(500))
			if !added || run != l.opts.Run {
				continue
			}
			if w.Forged[key] == nil {
				w.Forged[key] = new([kinds]int64)
			}
			w.Forged[key][k]++
		}
	}
}

// forgeOne adds one write that nobody attempted, unless it is there already.
func forgeOne(w *ledgertest.World, own *ownWorkload, run uint32, number int, k kind, sequence int64) (key string,
	added bool) {
	if k == inserts {
		doc, _ := appendTagged(nil, own.appendOwn(nil, run, number, sequence), run, number, sequence)
		d := ledgertest.Unmarshal(doc)
		key = ledgertest.KeyOf(ledgertest.Field(d, "_id"))
		_, there := w.Docs[key]
		w.Docs[key] = d
		return key, !there
	}
	slot, counter := slotOf(sequence)
	id := bson.ObjectID(ownID(run, number, updates, slot))
	key = ledgertest.KeyOf(id)
	d := w.Docs[key]
	name := string(rune('a' + counter))
	if ledgertest.Field(d, name) != nil {
		return key, false
	}
	if d == nil {
		d = bson.D{{Key: "_id", Value: id}}
	}
	w.Docs[key] = append(d, bson.E{Key: name, Value: weightOf(run, number, sequence)})
	return key, true
}

// contents checks what is said about documents that differ while no write has the class diverged: one that holds
// nothing but damage, or a copy, is missing on the member. Documents without an undamaged write of this run are not
// compared, so they may be missing unnoticed.
func contents(w *ledgertest.World, t *testing.T, seed uint64, member *ledgertest.Reader, result *record.LedgerResult) {
	if w.Expected(ledgertest.Inserts)[record.WriteDiverged]+w.Expected(ledgertest.Updates)[record.WriteDiverged] > 0 {
		return
	}
	compared := false
	for _, f := range w.Fates {
		compared = compared || member.Without[f.Document] && f.Applied > 0 && !f.Spoiled
	}
	if n := result.Inserts[record.WriteDiverged]; n > int64(len(member.Without)) || n == 0 && compared {
		t.Errorf("seed %d: %d documents are missing on the member, and %d were found to be", seed, len(member.Without), n)
	}
	delete(result.Inserts, record.WriteDiverged)
}

// diverge leaves some documents out on a member.
func diverge(w *ledgertest.World, rng *rand.Rand, member *ledgertest.Reader) {
	byDocument := map[string][]*ledgertest.Fate{}
	for _, f := range w.Fates {
		byDocument[f.Document] = append(byDocument[f.Document], f)
	}
	left := rng.IntN(4)
	for key := range w.Docs {
		if left == 0 {
			return
		}
		left--
		member.Without[key] = true
		for _, f := range byDocument[key] {
			f.Member = "missing"
		}
	}
}

// travelled runs a load. Every other time it returns the ledger of another process, to which that of the load was
// handed over while it ran.
func travelled(t *testing.T, l *Ledger, rng *rand.Rand, drive func()) *Ledger {
	t.Helper()
	if rng.IntN(2) == 0 {
		drive()
		return l
	}
	into := New(l.opts)
	remote := into.Remote(0)
	handingOver(t, l, remote, -1, drive)
	take(t, remote, l)
	return into
}

// handingOver hands a ledger over while a load runs, at most so many times if that is not negative.
func handingOver(t *testing.T, l *Ledger, to *Remote, most int, drive func()) {
	t.Helper()
	ended, handed := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for n := 0; n != most && err == nil; n++ {
			if err = to.Take(l.Delta()); closed(ended) {
				break
			}
		}
		handed <- err
	}()
	drive()
	close(ended)
	if err := <-handed; err != nil {
		t.Fatal(err)
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func take(t *testing.T, remote *Remote, from *Ledger) {
	t.Helper()
	if err := remote.Take(from.Delta()); err != nil {
		t.Fatal(err)
	}
}

// judgeWorld holds a result against the truth.
func judgeWorld(w *ledgertest.World, t *testing.T, seed uint64, result *record.LedgerResult) {
	t.Helper()
	var counts [4]int64
	lost := map[string]bool{}
	for name, f := range w.Fates {
		counts[f.Answer]++
		if w.Class(f) == record.WriteLost {
			lost[document(w, name, f)] = true
		}
	}
	claimed := map[string]bool{}
	for _, lost := range result.Lost {
		claimed[lost.ID] = true
	}
	opt := cmpopts.EquateEmpty()
	diff := cmp.Diff(w.Expected(ledgertest.Inserts), result.Inserts, opt) + cmp.Diff(w.Expected(ledgertest.Updates),
		result.Updates,
		opt) + cmp.Diff(lost, claimed, opt)
	if diff != "" {
		t.Errorf("seed %d (-want +got):\n%s%v", seed, diff, result.Examples)
	}
	got := [4]int64{acknowledged: result.Acknowledged, notApplied: result.NotApplied, indeterminate: result.Indeterminate}
	if got != counts || result.Attempted != int64(len(w.Fates)) {
		t.Errorf("seed %d: the ledger has %v of %d writes, the world said %v of %d", seed, got, result.Attempted, counts, len(w.Fates))
	}
}

// document names a write as the result of the own workload does.
func document(w *ledgertest.World, name string, f *ledgertest.Fate) string {
	if f.Kind == ledgertest.Updates {
		return name
	}
	var hex string
	if n, _ := fmt.Sscanf(f.Document, "ObjectID(%q)", &hex); n == 1 {
		return hex
	}
	return f.Document
}

// A client that is killed at any time hides losses, but makes none. What it handed over is found as ever.
func TestCutHistories(t *testing.T) {
	first := firstSeed(t)
	var found, hidden int
	for seed := first; seed < first+60/fewer && !t.Failed(); seed++ {
		rng := rand.New(rand.NewPCG(seed, 4))
		w := ledgertest.New(rng, map[ledgertest.Mishap]float64{ledgertest.Lose: 0.05, ledgertest.Roll: 0.05,
			ledgertest.Refuse: 0.02})
		w.Loaded = true
		l, into := New(Options{Run: 9, Seed: seed, Writers: 4}), New(Options{Run: 9, Seed: seed})
		own, err := l.Workload(Params{})
		if err != nil {
			t.Fatal(err)
		}
		remote := into.Remote(0)
		handingOver(t, l, remote, 1<<rng.IntN(12), func() { drive(t, l, own, w, 4, int64(500+rng.IntN(3000))) })
		for _, undo := range w.Rolling {
			undo()
		}
		into.Cut(0, 4, 0)
		all := AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w}, MostLost: 1 << 20}
		truth, got := audited(t, l, all), audited(t, into, all)
		lost := map[string]bool{}
		for _, x := range truth.Lost {
			lost[x.ID] = true
		}
		for _, x := range got.Lost {
			if !lost[x.ID] {
				t.Errorf("seed %d: %s was not lost", seed, x.ID)
			}
			delete(lost, x.ID)
		}
		for _, x := range truth.Lost { // what is left was not known as acknowledged
			k := inserts
			if strings.Contains(x.ID, ".") {
				k = updates
			}
			if mine := into.by[x.Writer]; lost[x.ID] && mine != nil {
				if writes := mine.outcomes(k); writes.known(x.Sequence) && writes.state(x.Sequence) == acknowledged {
					t.Errorf("seed %d: the loss of %s was not found", seed, x.ID)
				}
			}
		}
		for class, n := range got.Inserts {
			if n > truth.Inserts[class] && class != record.WriteRecovered && class != record.WriteDropped {
				t.Errorf("seed %d: %d inserts are %s, in truth %d", seed, n, class, truth.Inserts[class])
			}
		}
		if got.Judged != nil && truth.Judged != nil {
			for i, g := range got.Judged.Guarantees {
				if g.Name == "written" && g.Broken > truth.Judged.Guarantees[i].Broken {
					t.Errorf("seed %d: %d reads of writes that nobody made, in truth %d", seed, g.Broken, truth.Judged.Guarantees[i].Broken)
				}
			}
		}
		found, hidden = found+len(got.Lost), hidden+len(lost)
	}
	t.Logf("%d losses were found, %d came after the last hand-over", found, hidden)
}

// allClasses are those that the package comment tells of.
var allClasses = []string{record.WriteCorrupt, record.WriteDuplicated, record.WritePhantom, record.WriteLost,
	record.WriteNeverRead, record.WriteStale,
	record.WriteDiverged, record.WriteOK, record.WriteRecovered, record.WriteDropped, record.WriteUnexpected}

// Each write of each history gets the class that is true of it, and over all histories every class occurs.
func TestHistories(t *testing.T) {
	first := firstSeed(t)
	found := map[string]int64{}
	for i := range uint64(200 / fewer) {
		result := history(t, first+i)
		if t.Failed() {
			return
		}
		for _, list := range []map[string]int64{result.Inserts, result.Updates} {
			for class, n := range list {
				found[class] += n
			}
		}
	}
	for _, class := range allClasses {
		if found[class] == 0 {
			t.Errorf("no history had a write that is %s: found %v", class, found)
		}
	}
	if len(found) != len(allClasses) {
		t.Errorf("classes that are not known: %v", found)
	}
}
