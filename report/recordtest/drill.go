package recordtest

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Drill says what a record of a drill is to look like: a primary that is killed in each round.
type Drill struct {
	// Rounds is the number of complete rounds; with Running there is one more, which is not complete.
	Rounds  int
	Running bool
	// Lossy is the number of the round that lost writes, 0 for none.
	Lossy int
	// Clients are the load processes, whose effects are shown separately if there are several.
	Clients int
	// Name replaces all names that users or servers choose.
	Name string
}

const (
	second = int64(time.Second)
	ms     = int64(time.Millisecond)
)

func (o Drill) Specification() spec.Drill {
	s := spec.Drill{Name: "kill-primary", Repeat: spec.Count(max(1, o.all())),
		Faults: []spec.Fault{{Action: spec.ParseAction("kill:primary"), For: spec.Duration(8 * time.Second)}}}
	s.Run.Target, s.Run.Durability.W = "lab:three", "majority"
	s.Run.Load.Duration = spec.Duration(30 * time.Second)
	s.Expect = &spec.Expect{Outage: spec.Duration(5 * time.Second)}
	s.Defaults()
	return s
}

func (o Drill) all() int {
	if o.Running {
		return o.Rounds + 2
	}
	return o.Rounds
}

func (o Drill) Write(dir string) (*record.Drill, error) {
	if o.Name == "" {
		o.Name = "rs0-1"
	}
	spec := o.Specification()
	w, err := record.CreateDrill(dir, spec)
	if err != nil {
		return nil, err
	}
	d := &record.Drill{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill,
		Status: record.Complete, Tool: record.Tool{Name: "plimsoll", Version: "1.2.3"},
		Command: []string{"plimsoll", "drill", "lab:three", "--fault", "kill:primary"}, Started: Started,
		Validity: []measure.Finding{}}, Specification: spec, Verdict: record.Holds,
		Reasons: []string{}, Rounds: []record.DrillRound{}}
	for n := 1; n <= o.Rounds; n++ {
		d.Rounds = append(d.Rounds, o.round(n))
	}
	o.sum(d)
	if o.Running {
		n := o.Rounds + 1
		d.Status = record.Running
		d.Rounds = append(d.Rounds, record.DrillRound{Number: n, Record: roundDir(n), Status: record.Running,
			Verdict: record.Unknown})
		if err := w.Stand(o.status(n)); err != nil {
			return nil, err
		}
	}
	for _, r := range d.Rounds {
		run := Run{Warmup: 2, Seconds: 12, Rate: 90, Open: true, Median: 2 * time.Millisecond, Seed: uint64(r.Number),
			StallAt: 5, OnLab: true, Sampled: true, Name: o.Name}
		if _, err := run.Write(filepath.Join(dir, filepath.FromSlash(r.Record))); err != nil {
			return nil, err
		}
	}
	return d, w.Write(d)
}

func roundDir(n int) string { return fmt.Sprintf("%s/%d", record.RoundsDir, n) }

// outage is that of a round: no two are the same.
func outage(n int) int64 { return 1200*ms + int64(n*n%7)*340*ms }

func (o Drill) round(n int) record.DrillRound {
	const fault = 7 * second
	out := outage(n)
	r := record.DrillRound{
		Number: n, Record: roundDir(n), Status: record.Complete, Verdict: record.Holds, Level: "majority", Means: "synchronous_commit = remote_apply",
		Reasons: []string{"4,210 acknowledged writes are all present at the end"}, Expect: spec.Expect{Loss: spec.LossNone, Outage: spec.Duration(5 * time.Second)},
		Promise: "durability level majority. A majority of the members has a write when it is acknowledged, so no single failure loses any", WindowStart: 2 * second, WindowEnd: 14 * second,
		Members: 3, Seeds: 2, SeedsFound: 2, CPUSeconds: 3.4, WrittenBytes: 5 << 20, ServiceCPUSeconds: 1.9,
		ClientCPUSeconds: 0.6, Unread: []string{o.Name + ": a member of documentdb has no gateway of its own, so it cannot be read directly"},
		Faults: []record.DrillFault{{Fault: spec.ParseAction("kill:primary"), Target: o.Name, Mode: "crash",
			Injected: fault, Done: fault + 9*ms, Healed: fault + 3*second, Hit: true,
			Evidence: "process 4242 of " + o.Name + " is gone"}},
		Moments: []record.DrillMoment{
			{Kind: record.MomentFault, At: fault, Text: "kill:primary on " + o.Name},
			{Kind: record.MomentFirstError, At: fault + 11*ms},
			{Kind: record.MomentElected, At: fault + out - 300*ms, Text: "rs0-2 is the primary"},
			{Kind: record.MomentFirstWrite, At: fault + out, Text: "the first acknowledged write after 1.54 s without any"},
			{Kind: record.MomentWritesBack, At: fault + out + 400*ms, Text: "at 95 % of the 180 writes/s before the fault"},
			{Kind: record.MomentHealed, At: fault + 4*second, Text: "kill:primary on " + o.Name},
			{Kind: record.MomentRedundant, At: fault + 5200*ms, Text: "all members run, no member lags, all volumes are healthy"},
		},
		Ledger: &record.LedgerResult{Writers: 64, Attempted: 4260, Acknowledged: 4210, Indeterminate: 18, NotApplied: 32,
			LossWindow: -1,
			Inserts:    map[string]int64{record.WriteOK: 2800, record.WriteRecovered: 6, record.WriteDropped: 4},
			Updates:    map[string]int64{record.WriteOK: 1410, record.WriteDropped: 8},
			Reads: []record.LedgerRead{{Source: "final", Documents: 3100, Seconds: 0.21},
				{Source: "rs0-2", Documents: 3100, Seconds: 0.24, State: record.MemberAgrees},
				{Source: "rs0-3", Documents: 3093, Seconds: 0.2, State: record.MemberStale, Missing: 7, Behind: "1.2 s behind the primary"}},
			Judged: judgedReads()},
	}
	o.effects(&r, fault-4*ms, out)
	if n == o.Lossy {
		o.lose(&r)
	}
	return r
}

func (o Drill) effects(r *record.DrillRound, from, out int64) {
	for client := -1; client < o.Clients; client++ {
		if client == 0 && o.Clients < 2 {
			break
		}
		share := 1.0
		if client >= 0 {
			share = 1 / float64(o.Clients)
		}
		for i, class := range []string{"", "insert", "read", "update"} {
			r.Effects = append(r.Effects, record.DrillEffect{Class: class, Client: client, Before: 90 * share / float64(i+1),
				Outage: out + int64(i)*3*ms, OutageFrom: from,
				Recovery: out + 400*ms, Missing: 130 * share / float64(i+1), Failed: int64(40*share) / int64(i+1)})
		}
	}
}

// oldTimeline and the name of a member is a place where lost writes are still found.
const oldTimeline = "the old timeline of "

// lose makes a round one that lost writes.
func (o Drill) lose(r *record.DrillRound) {
	r.Verdict, r.Reasons = record.Violated, []string{"3 acknowledged writes lost, although none may be lost. D" + r.Promise[1:]}
	l := r.Ledger
	l.Inserts[record.WriteOK], l.Inserts[record.WriteLost], l.LossWindow = 2797, 3, 12*ms
	for i := range int64(3) {
		l.Lost = append(l.Lost, record.LostWrite{Writer: 5, Sequence: 40 + i,
			ID: fmt.Sprintf("0a1b2c3d000005000000%04d", 40+i), Acknowledged: 7*second - (12-i)*ms, Age: (12 - i) * ms})
	}
	l.Lost[0].Found, l.Lost[1].Found = oldTimeline+o.Name, oldTimeline+o.Name
	l.LostRanges = []string{"5: 40-42"}
	l.Reads = append(l.Reads, record.LedgerRead{Source: o.Name, Documents: 3102, Seconds: 0.3,
		State: record.MemberDiverged, Extra: 2},
		record.LedgerRead{Source: "rs0-4", State: record.MemberNeverRead, Problem: "connection refused"})
}

func (o Drill) sum(d *record.Drill) {
	if len(d.Rounds) == 0 {
		d.Verdict = record.Unknown
		return
	}
	out, lost := &record.Spread{Unit: "ns"}, &record.Spread{Unit: "writes"}
	for _, r := range d.Rounds {
		out.Values, lost.Values = append(out.Values, float64(outage(r.Number))),
			append(lost.Values, float64(r.Ledger.Inserts[record.WriteLost]))
		out.Max, lost.Max = max(out.Max, out.Values[len(out.Values)-1]), max(lost.Max, lost.Values[len(lost.Values)-1])
		if r.Verdict == record.Violated {
			d.Verdict = record.Violated
		}
		if r.Verdict == d.Verdict {
			d.Reasons = r.Reasons
		}
	}
	out.Median, d.Outages, d.Losses = 1880e6, out, lost
	d.Statement = "What so many rounds allow to say."
}

// status returns the state of a drill whose primary was just killed.
func (o Drill) status(round int) *record.DrillStatus {
	at := func(s int) time.Time { return Started.Add(time.Duration(s) * time.Second) }
	return &record.DrillStatus{
		Round: round, Rounds: o.all(), Writes: record.DrillWrites{Acknowledged: 1234, NotApplied: 56, Indeterminate: 7},
		Stages: []record.DrillStage{{Stage: record.StagePrepare, At: at(100)}, {Stage: record.StageLoad, At: at(103)},
			{Stage: record.StageBroken, At: at(110)}},
		Notes: []record.DrillNote{
			{At: at(99), Text: fmt.Sprintf("round %d of %d", round, o.all())},
			{At: at(110), Kind: "fault", Text: "kill:primary: " + o.Name + " is broken"},
		},
	}
}

// judgedReads are reads of which some were dirty, which their level allows.
func judgedReads() *record.ReadsResult {
	first := record.ReadOperation{Kind: "write", Session: 3, Sent: 10_410_000_000, Ended: 10_412_000_000, Server: "pg-1", Told: "acknowledged"}
	return &record.ReadsResult{Concern: "local", Preference: "secondary", Causal: true, Writes: "less than a majority",
		Reads: 1200, Updates: 1418, Bytes: 31_000,
		Guarantees: []record.ReadGuarantee{{Name: "read-your-writes", Checked: 610, Broken: 4, RolledBack: 3},
			{Name: "committed", Checked: 1200, Broken: 2, RolledBack: 2},
			{Name: "written", Promised: true, Checked: 1200}},
		Conflicts: []record.ReadConflict{{Guarantee: "committed", Writer: 3, Sequence: 17, ID: "3136aadc0000038000000001.b", First: &first,
			Second: record.ReadOperation{Kind: "read", Session: 5, Sent: 10_415_000_000, Ended: 10_416_000_000, Server: "pg-1",
				Seen: "1 17"}}},
		Staleness: []record.ReadStaleness{{Phase: record.ReadsBefore, Reads: 400, Stale: 12, P99: 900_000, Max: 2_100_000},
			{Phase: record.ReadsDuring, Reads: 300, Stale: 21, P99: 8_000_000, Max: 31_000_000},
			{Phase: record.ReadsAfter, Reads: 500, Stale: 9, Max: 1_300_000}},
		Servers: []record.ReadServer{{Server: "pg-1", Reads: 100}, {Server: "pg-2", Reads: 1100, Stale: 42, Max: 31_000_000}}}
}
