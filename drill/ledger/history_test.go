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
func drive(t testing.TB, w workload.Workload, st store.Store, workers int, operations int64) load.Report {
	t.Helper()
	report, err := load.Run(context.Background(), load.Config{Workers: workers, Operations: operations,
		Timeout: 30 * time.Second}, w, st, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// expected counts the fates of a world by class.
func (w *world) expected(k kind) map[string]int64 {
	out := map[string]int64{}
	for _, f := range w.fates {
		if class := w.class(f); f.kind == k && class != "" {
			out[class]++
		}
	}
	for key, n := range w.forged {
		if w.shown(key) && n[k] > 0 {
			out[record.WriteUnexpected] += n[k]
		}
	}
	return out
}

// history is one seeded run of the own workload in which everything goes wrong, with random chances. It returns what
// was found.
func history(t *testing.T, seed uint64) *record.LedgerResult {
	rng := rand.New(rand.NewPCG(seed, 1))
	chances := map[mishap]float64{}
	for m := lose; m < mishapsTotal; m++ {
		if m != hang && rng.IntN(3) > 0 {
			chances[m] = rng.Float64() * 0.06
		}
	}
	world := newWorld(rng, chances)
	world.loaded = true
	workers := 1 + rng.IntN(8)
	l := New(Options{Run: uint32(seed), Seed: seed, Writers: workers, First: rng.IntN(100)})
	own, err := l.Workload(Params{Payload: 1 + rng.IntN(60)})
	if err != nil {
		t.Fatal(err)
	}
	operations := int64(100 + rng.IntN(700))
	l = travelled(t, l, rng, func() { drive(t, own, world, workers, operations) })
	for _, undo := range world.rolling {
		undo()
	}
	world.forge(rng, l, own.(*ownWorkload))
	member := &reader{name: "b", w: world, without: map[string]bool{}}
	world.diverge(rng, member)
	broken := &reader{name: "c", w: world, most: 1 + rng.IntN(len(world.docs))}
	opts := AuditOptions{Workload: own, Members: []Source{member, broken}, Faults: []Fault{{1 << 40, 1 << 40, 1 << 40, nil}}, MostLost: 1 << 20}
	if final := world.lastRead(rng, seed); final != nil {
		opts.Final = final
	}
	result, err := l.Audit(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if !world.final.broke {
		world.contents(t, seed, member, result)
	}
	world.judge(t, seed, result)
	for _, r := range result.Reads {
		if never := r.State == record.MemberNeverRead; r.Source != FinalRead &&
			never != (world.final.broke || r.Source == "c" && broken.broke) {
			t.Errorf("seed %d: the state of member %s is %q", seed, r.Source, r.State)
		}
	}
	return result
}

// lastRead chooses how the final read of a history goes: to its end, until the connection breaks, or, where nil is
// returned, not at all.
func (w *world) lastRead(rng *rand.Rand, seed uint64) *reader {
	w.final = &reader{name: FinalRead, w: w, saw: map[string]bool{}}
	switch seed % 5 {
	case 0:
		w.final.broke = true
		return nil
	case 1:
		w.final.most = 1 + rng.IntN(len(w.docs))
	}
	return w.final
}

// forge adds up to three documents that carry the proof of this run though nobody ever attempted what they stand for:
// of writers that there are and of some that there never were. As many documents of another run, of which nothing may
// be said, lie beside them.
func (w *world) forge(rng *rand.Rand, l *Ledger, own *ownWorkload) {
	for range rng.IntN(4) {
		number, next := 5000+rng.IntN(100), [kinds]int64{}
		if all := l.writers(); rng.IntN(2) == 0 {
			known := all[rng.IntN(len(all))]
			number, next = known.number, [kinds]int64{known.inserts.next, known.updates.next}
		}
		for run := range uint32(2) {
			run += l.opts.Run
			k := kind(rng.IntN(int(kinds)))
			key, added := w.forgeOne(own, run, number, k, next[k]+rng.Int64N(500))
			if !added || run != l.opts.Run {
				continue
			}
			if w.forged[key] == nil {
				w.forged[key] = new([kinds]int64)
			}
			w.forged[key][k]++
		}
	}
}

// forgeOne adds one write that nobody attempted, unless it is there already.
func (w *world) forgeOne(own *ownWorkload, run uint32, number int, k kind, sequence int64) (key string, added bool) {
	if k == inserts {
		doc, _ := appendTagged(nil, own.appendOwn(nil, run, number, sequence), run, number, sequence)
		d := unmarshal(doc)
		key = keyOf(field(d, "_id"))
		_, there := w.docs[key]
		w.docs[key] = d
		return key, !there
	}
	slot, counter := slotOf(sequence)
	id := bson.ObjectID(ownID(run, number, updates, slot))
	key = keyOf(id)
	d := w.docs[key]
	name := string(rune('a' + counter))
	if field(d, name) != nil {
		return key, false
	}
	if d == nil {
		d = bson.D{{Key: "_id", Value: id}}
	}
	w.docs[key] = append(d, bson.E{Key: name, Value: weightOf(run, number, sequence)})
	return key, true
}

// contents checks what is said about documents that differ while no write has the class diverged: one that holds
// nothing but damage, or a copy, is missing on the member.
func (w *world) contents(t *testing.T, seed uint64, member *reader, result *record.LedgerResult) {
	if w.expected(inserts)[record.WriteDiverged]+w.expected(updates)[record.WriteDiverged] > 0 {
		return
	}
	n := result.Inserts[record.WriteDiverged]
	if n > int64(len(member.without)) || n == 0 && len(member.without) > 0 {
		t.Errorf("seed %d: %d documents are missing on the member, and %d were found to be", seed, len(member.without), n)
	}
	delete(result.Inserts, record.WriteDiverged)
}

// diverge leaves some documents out on a member.
func (w *world) diverge(rng *rand.Rand, member *reader) {
	byDocument := map[string][]*fate{}
	for _, f := range w.fates {
		byDocument[f.document] = append(byDocument[f.document], f)
	}
	left := rng.IntN(4)
	for key := range w.docs {
		if left == 0 {
			return
		}
		left--
		member.without[key] = true
		for _, f := range byDocument[key] {
			f.member = "missing"
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
	part := into.Part(0)
	handingOver(t, l, part, -1, drive)
	take(t, part, l)
	return into
}

// handingOver hands a ledger over while a load runs, at most so many times if that is not negative.
func handingOver(t *testing.T, l *Ledger, to *Part, most int, drive func()) {
	t.Helper()
	ended, handed := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for n := 0; n != most && err == nil; n++ {
			if err = to.Take(l.News()); closed(ended) {
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

func take(t *testing.T, part *Part, from *Ledger) {
	t.Helper()
	if err := part.Take(from.News()); err != nil {
		t.Fatal(err)
	}
}

// judge holds a result against the truth.
func (w *world) judge(t *testing.T, seed uint64, result *record.LedgerResult) {
	t.Helper()
	var told [4]int64
	lost := map[string]bool{}
	for name, f := range w.fates {
		told[f.told]++
		if w.class(f) == record.WriteLost {
			lost[w.document(name, f)] = true
		}
	}
	claimed := map[string]bool{}
	for _, lost := range result.Lost {
		claimed[lost.ID] = true
	}
	opt := cmpopts.EquateEmpty()
	diff := cmp.Diff(w.expected(inserts), result.Inserts, opt) + cmp.Diff(w.expected(updates), result.Updates,
		opt) + cmp.Diff(lost, claimed, opt)
	if diff != "" {
		t.Errorf("seed %d (-want +got):\n%s%v", seed, diff, result.Examples)
	}
	got := [4]int64{acknowledged: result.Acknowledged, notApplied: result.NotApplied, indeterminate: result.Indeterminate}
	if got != told || result.Attempted != int64(len(w.fates)) {
		t.Errorf("seed %d: the ledger was told %v of %d writes, the world said %v of %d", seed, got, result.Attempted, told, len(w.fates))
	}
}

// document names a write as the result of the own workload does.
func (w *world) document(name string, f *fate) string {
	if f.kind == updates {
		return name
	}
	var hex string
	if n, _ := fmt.Sscanf(f.document, "ObjectID(%q)", &hex); n == 1 {
		return hex
	}
	return f.document
}

// A client that is killed at any time hides losses, but makes none. What it handed over is found as ever.
func TestCutHistories(t *testing.T) {
	first := firstSeed(t)
	var found, hidden int
	for seed := first; seed < first+60/fewer && !t.Failed(); seed++ {
		rng := rand.New(rand.NewPCG(seed, 4))
		w := newWorld(rng, map[mishap]float64{lose: 0.05, roll: 0.05, refuse: 0.02})
		w.loaded = true
		l, into := New(Options{Run: 9, Seed: seed, Writers: 4}), New(Options{Run: 9, Seed: seed})
		own, err := l.Workload(Params{})
		if err != nil {
			t.Fatal(err)
		}
		part := into.Part(0)
		handingOver(t, l, part, 1<<rng.IntN(12), func() { drive(t, own, w, 4, int64(500+rng.IntN(3000))) })
		for _, undo := range w.rolling {
			undo()
		}
		into.Cut(0, 4, 0)
		all := AuditOptions{Workload: own, Final: &reader{name: FinalRead, w: w}, MostLost: 1 << 20}
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
				if lane := mine.lane(k); lane.known(x.Sequence) && lane.state(x.Sequence) == acknowledged {
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
