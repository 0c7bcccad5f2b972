package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// script makes n inserts of writer 0 of the own workload, one per millisecond, all acknowledged and applied but
// those that fail says.
func script(t *testing.T, n int, lost func(i int) bool) (*Ledger, workload.Workload, *ledgertest.World) {
	t.Helper()
	l := New(Options{Run: 5, Writers: 1})
	own, err := l.Workload(Params{Insert: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := ledgertest.New(rand.New(rand.NewPCG(1, 1)), nil)
	s := own.Stream(0, 1)
	observe := l.Observe(0)
	var op workload.Op
	for i := range n {
		s.Next(&op)
		if !lost(i) {
			w.Insert(ledgertest.Unmarshal(op.Requests[0].Docs[0]), ledgertest.Fine)
		}
		at := int64(i) * int64(time.Millisecond)
		observe(&op, &load.Settlement{Outcome: store.OK, Confirmed: 1, Failed: -1, Attempts: 1, Ended: at,
			Sent: at - int64(time.Millisecond)/2})
	}
	return l, own, w
}

func audited(t *testing.T, l *Ledger, opts AuditOptions) *record.LedgerResult {
	t.Helper()
	result, err := l.Audit(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The oldest lost write says how much was lost before the fault.
func TestLossWindow(t *testing.T) {
	l, own, w := script(t, 1000, func(i int) bool { return i >= 480 && i < 500 || i == 470 })
	fault := int64(500 * time.Millisecond)
	old := &ledgertest.Reader{Source: "rollback files of a", W: ledgertest.New(nil, nil)}
	_, _, all := script(t, 490, func(int) bool { return false })
	old.W.Docs = all.Docs
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w},
		Discarded: []Source{old},
		Faults:    []Fault{{fault, fault, fault, nil}}})
	if got.LossWindow != int64(30*time.Millisecond) {
		t.Errorf("loss window %v, want 30ms", time.Duration(got.LossWindow))
	}
	if diff := cmp.Diff([]string{"0: 470 480-499"}, got.LostRanges); diff != "" {
		t.Error(diff)
	}
	want := record.LostWrite{Sequence: 470, ID: "0000000500000000000001d6", Acknowledged: int64(470 * time.Millisecond),
		Age: int64(30 * time.Millisecond), Found: "rollback files of a"}
	if diff := cmp.Diff(want, got.Lost[0]); diff != "" {
		t.Error(diff)
	}
	if last := got.Lost[len(got.Lost)-1]; last.Sequence != 499 || last.Found != "" {
		t.Errorf("the last lost write is %+v", last)
	}
}

// Of what was not read, nothing is said.
func TestReadsThatFail(t *testing.T) {
	l, own, w := script(t, 100, func(i int) bool { return i == 3 })
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w, Most: 40}})
	want := map[string]int64{record.WriteOK: 40, record.WriteNeverRead: 60}
	if diff := cmp.Diff(want, got.Inserts); diff != "" || !strings.Contains(got.Reads[0].Problem, "broke after 40") {
		t.Errorf("%s%+v", diff, got.Reads)
	}
	got = audited(t, l, AuditOptions{Workload: own})
	if diff := cmp.Diff(map[string]int64{record.WriteNeverRead: 100}, got.Inserts); diff != "" || len(got.Lost) > 0 {
		t.Error(diff)
	}
}

// A member that could not be read says nothing about divergence; one that lacks something does.
func TestMembers(t *testing.T) {
	l, own, w := script(t, 100, func(int) bool { return false })
	lacking := &ledgertest.Reader{Source: "b", W: w, Without: map[string]bool{}}
	for key := range w.Docs {
		lacking.Without[key] = true
		break
	}
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w},
		Members: []Source{lacking, &ledgertest.Reader{Source: "c", W: w, Most: 10}}})
	if diff := cmp.Diff(map[string]int64{record.WriteOK: 99, record.WriteDiverged: 1}, got.Inserts); diff != "" {
		t.Error(diff)
	}
	if got.Reads[1].Missing != 1 || got.Reads[2].Problem == "" {
		t.Errorf("%+v", got.Reads)
	}
}

// A backup has what there was when it was made. It decides nothing about writes. What a member behind its primary did
// not have yet is named, and a backup of no moment is found.
func TestCopies(t *testing.T) {
	l, own, w := script(t, 100, func(int) bool { return false })
	copyOf := func(name string, lacks func(i int) bool) *ledgertest.Reader {
		r := &ledgertest.Reader{Source: name, W: w, Without: map[string]bool{}}
		for i := range 100 {
			if lacks(i) {
				r.Without[ledgertest.KeyOf(bson.ObjectID(ownID(5, 0, inserts, int64(i))))] = true
			}
		}
		return r
	}
	begun := int64(60 * time.Millisecond) // write number n was acknowledged after n ms
	copies := []Copy{
		{copyOf("exact", func(i int) bool { return i > 60 }), begun},
		{copyOf("behind", func(i int) bool { return i > 50 }), begun},
		{copyOf("torn", func(i int) bool { return i > 70 || i == 40 || i == 41 }), begun},
		{&ledgertest.Reader{Source: "cut off", W: w, Most: 10}, begun},
	}
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w}, Copies: copies})
	if diff := cmp.Diff(map[string]int64{record.WriteOK: 100}, got.Inserts); diff != "" {
		t.Error(diff)
	}
	for i, want := range []record.LedgerRead{
		{State: record.MemberStale, Missing: 39, Copy: &record.LedgerCopy{}},
		{State: record.MemberStale, Missing: 49, Copy: &record.LedgerCopy{Earlier: 9, Age: int64(9 * time.Millisecond)}},
		{State: record.MemberDiverged, Missing: 31, Copy: &record.LedgerCopy{Earlier: 2, Torn: 2,
			Age: int64(20 * time.Millisecond)}},
		{State: record.MemberNeverRead},
	} {
		read := got.Reads[i+1]
		if read.State != want.State || want.Copy != nil && (read.Missing != want.Missing || *read.Copy != *want.Copy) {
			t.Errorf("%s: %+v, %+v", read.Source, read, read.Copy)
		}
	}
}

// arriving is a source to which writes without an answer come after its first scan.
type arriving struct {
	*ledgertest.Reader
	scans int
}

func (a *arriving) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	if a.scans++; a.scans > 1 {
		a.Reader.Without = nil
	}
	return a.Reader.Scan(ctx, collection, each)
}

// A write that is applied during the audit is no difference between members, and a write of one member only is.
func TestWritesDuringTheAudit(t *testing.T) {
	l, own, w := script(t, 100, func(int) bool { return false })
	without := map[string]bool{ledgertest.KeyOf(bson.ObjectID(ownID(5, 0, inserts, 99))): true}
	member := &ledgertest.Reader{Source: "b", W: w}
	arrives := &arriving{Reader: &ledgertest.Reader{Source: FinalRead, W: w, Without: without}}
	never := &ledgertest.Reader{Source: FinalRead, W: w, Without: without}
	for _, c := range []struct {
		final Source
		want  map[string]int64
		state string
	}{
		{arrives, map[string]int64{record.WriteOK: 100}, record.MemberAgrees},
		{never, map[string]int64{record.WriteOK: 99, record.WriteLost: 1, record.WriteDiverged: 1}, record.MemberDiverged},
	} {
		got := audited(t, l, AuditOptions{Workload: own, Final: c.final, Members: []Source{member}})
		if diff := cmp.Diff(c.want, got.Inserts); diff != "" || len(got.Reads) != 2 || got.Reads[1].State != c.state {
			t.Errorf("%s%+v", diff, got.Reads)
		}
	}
}

// late is a source that is known to be behind.
type late struct {
	*ledgertest.Reader
	text string
}

func (l late) Behind() string { return l.text }

// Each member is judged by its name: one that is behind is stale, and only what it has besides is a difference.
func TestMembersByName(t *testing.T) {
	l, own, w := script(t, 200, func(i int) bool { return i == 150 })
	_, _, all := script(t, 200, func(int) bool { return false })
	without := map[string]bool{}
	for n := range int64(20) {
		id := ownID(5, 0, inserts, 179+n)
		without[ledgertest.KeyOf(bson.ObjectID(id))] = true
	}
	final, lacking := &ledgertest.Reader{Source: FinalRead, W: w}, &ledgertest.Reader{Source: "b", W: w, Without: without}
	got := audited(t, l, AuditOptions{Workload: own, Final: final, Members: []Source{
		late{&ledgertest.Reader{Source: "a", W: w}, ""}, late{lacking, "20 bytes behind"}, late{&ledgertest.Reader{Source: "c", W: all}, "9 bytes behind"},
		&ledgertest.Reader{Source: "d", W: w, Most: 10}}})
	var states []string
	for _, r := range got.Reads {
		states = append(states, fmt.Sprintf("%s %s -%d +%d %s", r.Source, r.State, r.Missing, r.Extra, r.Behind))
	}
	want := []string{"final  -0 +0 ", "a agrees -0 +0 ", "b stale -20 +0 20 bytes behind", "c diverged -0 +1 9 bytes behind", "d never-read -189 +0 "}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	// The lost write is there on c, which says nothing against the others.
	if diff := cmp.Diff(map[string]int64{record.WriteOK: 179, record.WriteStale: 20, record.WriteLost: 1},
		got.Inserts); diff != "" {
		t.Error(diff)
	}
	if got.Lost[0].Found != "c" || !strings.Contains(strings.Join(got.Notes, "\n"), "b is stale: it lacks 20 writes") {
		t.Errorf("found in %q, notes %q", got.Lost[0].Found, got.Notes)
	}
	if text := strings.Join(got.Examples[record.WriteStale], "\n"); !strings.Contains(text, "is not on b yet") {
		t.Errorf("examples: %s", text)
	}
}

// Writes with a proof of this run that the ledger does not know are unexpected; those of earlier runs are left out,
// and those of a process that is gone are said to be.
func TestUnexpectedAndForeign(t *testing.T) {
	l, own, w := script(t, 50, func(int) bool { return false })
	for writer, run := range map[int]uint32{7: 5, 8: 4} {
		doc, _ := appendTagged(nil, own.(*ownWorkload).appendOwn(nil, run, writer, 1), run, writer, 1)
		w.Insert(ledgertest.Unmarshal(doc), ledgertest.Fine)
	}
	opts := AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w}}
	got := audited(t, l, opts)
	if diff := cmp.Diff(map[string]int64{record.WriteOK: 50, record.WriteUnexpected: 1}, got.Inserts); diff != "" {
		t.Error(diff)
	}
	if all := strings.Join(got.Notes, "\n"); !strings.Contains(all, "1 documents of other runs") {
		t.Errorf("notes: %q", all)
	}
	l.Cut(7, 1, 0)
	got = audited(t, l, opts)
	if diff := cmp.Diff(map[string]int64{record.WriteOK: 50}, got.Inserts); diff != "" {
		t.Error(diff)
	}
	if all := strings.Join(got.Notes, "\n"); !strings.Contains(all, "writers 7 to 7") {
		t.Errorf("notes: %q", all)
	}
}

// Of a client that was killed only the last writes are unknown: what was lost before its last hand-over is found, and
// nothing is said of what came after it.
func TestCut(t *testing.T) {
	l, own, w := script(t, 50, func(i int) bool { return i == 7 || i == 49 })
	into := New(Options{Run: 5, Writers: 1})
	remote := into.Remote(0)
	take(t, remote, l)
	s := own.Stream(0, 1)
	observe := l.Observe(0)
	var op workload.Op
	for i := range 30 { // that nobody hands over; every third is lost
		s.Next(&op)
		if i%3 > 0 {
			w.Insert(ledgertest.Unmarshal(op.Requests[0].Docs[0]), ledgertest.Fine)
		}
		observe(&op, &load.Settlement{Outcome: store.OK, Confirmed: 1, Failed: -1, Attempts: 1})
	}
	into.Cut(0, 1, 1234*time.Millisecond)
	got := audited(t, into, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w}})
	if diff := cmp.Diff(map[string]int64{record.WriteOK: 48, record.WriteLost: 2}, got.Inserts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"0: 7 49"}, got.LostRanges); diff != "" {
		t.Error(diff)
	}
	if all := strings.Join(got.Notes, "\n"); !strings.Contains(all, "writers 0 to 0 ends at 1.234s") || got.Writers != 1 {
		t.Errorf("%d writers, notes: %q", got.Writers, all)
	}
}

func TestPartRefuses(t *testing.T) {
	into := New(Options{Run: 1})
	other := New(Options{Run: 2})
	if err := into.Remote(0).Take(other.Delta()); err == nil || !strings.Contains(err.Error(), "different documents") {
		t.Errorf("two runs: %v", err)
	}
	into.writer(3)
	other = New(Options{Run: 1})
	other.writer(3)
	if err := into.Remote(0).Take(other.Delta()); err == nil || !strings.Contains(err.Error(), "writer 3") {
		t.Errorf("the same writer: %v", err)
	}
	other = New(Options{Run: 1})
	remote := New(Options{Run: 1}).Remote(0)
	other.Delta() // which does not arrive
	if err := remote.Take(other.Delta()); err == nil {
		t.Error("a hand-over that is missing was not noticed")
	}
	other = New(Options{Run: 1})
	if err := remote.Take(other.Delta()); err == nil {
		t.Error("after that, another was taken")
	}
}

// Times of another process are moved to the clock of this one.
func TestPartShifts(t *testing.T) {
	l, _, _ := script(t, 10, func(int) bool { return false })
	into := New(l.opts)
	take(t, into.Remote(time.Second), l)
	if at, _ := into.by[0].inserts.acknowledgedAt(4); at != int64(time.Second+4*time.Millisecond) {
		t.Errorf("acknowledged at %v", time.Duration(at))
	}
}

func TestWrongParams(t *testing.T) {
	for want, p := range map[string]Params{
		"writes nothing": {Read: 1}, "reads need inserted": {Update: 1, Read: 1}, "negative": {Insert: -1, Update: 2},
		"payload": {Payload: 1 << 30},
	} {
		if _, err := New(Options{}).Workload(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
	if _, err := New(Options{}).Audit(context.Background(), AuditOptions{}); err == nil {
		t.Error("an audit without a workload was begun")
	}
}
