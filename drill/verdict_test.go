package drill

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// whole round that holds: a fault that hit, enough writes, a final read, nothing lost.
func goodRound() *record.DrillRound {
	return &record.DrillRound{
		Number: 1, Expect: spec.Expect{Loss: spec.LossNone}, Promise: "majority",
		WindowStart: int64(time.Second), WindowEnd: int64(61 * time.Second),
		Faults: []record.DrillFault{{Fault: spec.ParseAction("kill:primary"), Target: "rs0-1", Injected: int64(21 * time.Second), Hit: true}},
		Effects: []record.DrillEffect{{Class: "", Client: -1, Before: 200, OutageFrom: int64(21 * time.Second),
			Outage:   int64(2 * time.Second),
			Recovery: int64(3 * time.Second), Failed: 7}},
		Ledger: &record.LedgerResult{Acknowledged: 1000, Inserts: map[string]int64{record.WriteOK: 1000}, LossWindow: -1,
			Reads: []record.LedgerRead{{Source: finalRead, Documents: 1000}}},
	}
}

func seconds(n int) spec.Duration { return spec.Duration(time.Duration(n) * time.Second) }

// verdictCase changes the evidence of a round that holds.
type verdictCase struct {
	change func(*evidence)
	want   record.DrillVerdict
	says   string
}

// judged judges rounds.
func judged(t *testing.T, cases map[string]verdictCase) {
	t.Helper()
	for name, c := range cases {
		e := evidence{round: goodRound(), acknowledged: 200}
		c.change(&e)
		got, reasons := judge(e)
		if got != c.want || !strings.Contains(strings.Join(reasons, "; "), c.says) {
			t.Errorf("%s: %s because %q, want %s because of %q", name, got, reasons, c.want, c.says)
		}
	}
}

func TestVerdict(t *testing.T) {
	lose := func(class string) func(*evidence) {
		return func(e *evidence) { e.round.Ledger.Inserts[class] = 3 }
	}
	judged(t, map[string]verdictCase{
		"holds": {func(*evidence) {}, record.Holds, "1,000 acknowledged writes"},
		"event in the load": {func(e *evidence) {
			f := &e.round.Faults[0]
			f.Event, f.Done = &record.DrillEvent{Outcome: record.EventCompleted}, int64(60*time.Second)
		}, record.Holds, ""},
		"event after the load": {func(e *evidence) {
			f := &e.round.Faults[0]
			f.Event, f.Done = &record.DrillEvent{Outcome: record.EventCompleted}, int64(71*time.Second)
		}, record.Unknown, "kill:primary ended 10.0 s after the load"},
		"lost":    {lose(record.WriteLost), record.Violated, "3 acknowledged writes lost"},
		"corrupt": {lose(record.WriteCorrupt), record.Violated, "other content"},
		"wrong reads": {func(e *evidence) { e.round.Ledger.WrongReads = 2 }, record.Violated,
			"2 reads during the load returned another document"},
		"duplicated": {lose(record.WriteDuplicated), record.Violated, "more than once"},
		"phantom":    {lose(record.WritePhantom), record.Violated, "not applied"},
		"diverged":   {lose(record.WriteDiverged), record.Violated, "between members"},
		"torn backup": {func(e *evidence) {
			e.round.Ledger.Reads = append(e.round.Ledger.Reads,
				record.LedgerRead{Source: "the backup of rs0-2", Copy: &record.LedgerCopy{Torn: 2}})
		}, record.Violated, "the backup of rs0-2 is inconsistent"},
		"backup of a member that is behind": {func(e *evidence) {
			e.round.Ledger.Reads = append(e.round.Ledger.Reads,
				record.LedgerRead{Source: "the backup of rs0-2", Copy: &record.LedgerCopy{Earlier: 2}})
		}, record.Holds, ""},
		"recovered":         {lose(record.WriteRecovered), record.Holds, ""},
		"dropped":           {lose(record.WriteDropped), record.Holds, ""},
		"never read":        {lose(record.WriteNeverRead), record.Unknown, "not covered"},
		"no hit":            {func(e *evidence) { e.round.Faults[0].Hit = false }, record.Unknown, "no visible effect"},
		"nothing injected":  {func(e *evidence) { e.round.Faults = nil }, record.Unknown, "no fault was injected"},
		"role did not move": {func(e *evidence) { e.unchanged = []string{"rs0"} }, record.Unknown, "still the same member"},
		"too few writes":    {func(e *evidence) { e.acknowledged = 19 }, record.Unknown, "At least 20"},
		"no final read":     {func(e *evidence) { e.round.Ledger.Reads = nil }, record.Unknown, "no final read"},
		"final read failed": {func(e *evidence) { e.round.Ledger.Reads[0].Problem = "gone" }, record.Unknown, "gone"},
		"no ledger":         {func(e *evidence) { e.round.Ledger = nil }, record.Unknown, "nothing was read"},
		"could not be done": {func(e *evidence) { e.problem = "the load failed" }, record.Unknown, "the load failed"},
		"seed documents":    {func(e *evidence) { e.round.Seeds, e.round.SeedsFound = 2, 1 }, record.Violated, "1 of 2 documents"},
		"out for too long":  {func(e *evidence) { e.round.Expect.Outage = spec.Duration(time.Second) }, record.Violated, "2.00 s"},
		"hung for too long": {func(e *evidence) {
			e.round.Expect.Outage, e.round.Effects[0].Hung = spec.Duration(time.Second), 1e9-1
		}, record.Violated, "2.00 s"},
		"hung until the timeout": {func(e *evidence) {
			e.round.Expect.Outage, e.round.Effects[0].Hung = spec.Duration(time.Second), 1e9
		}, record.Unknown, "a --timeout shorter"},
		"back too late":      {func(e *evidence) { e.round.Expect.Recovery = spec.Duration(time.Second) }, record.Violated, "back after"},
		"errors":             {func(e *evidence) { e.round.Expect.NoErrors = true }, record.Violated, "7 operations failed"},
		"lost and not known": {func(e *evidence) { lose(record.WriteLost)(e); e.round.Faults[0].Hit = false }, record.Violated, "no visible effect"},
		"lost, allowed":      {func(e *evidence) { lose(record.WriteLost)(e); e.round.Expect.Loss = spec.LossAny }, record.Holds, "allowed"},
		"lost in the window": {func(e *evidence) {
			lose(record.WriteLost)(e)
			e.round.Expect.Loss, e.round.Expect.LossWindow, e.round.Ledger.LossWindow = spec.LossWindow,
				spec.Duration(time.Second), 5e8
		}, record.Holds, "500 ms"},
		"lost before the window": {func(e *evidence) {
			lose(record.WriteLost)(e)
			e.round.Expect.Loss, e.round.Expect.LossWindow, e.round.Ledger.LossLeast = spec.LossWindow,
				spec.Duration(time.Second), 2e9
		}, record.Violated, "2.00 s before"},
		"lost in a split brain": {func(e *evidence) {
			lose(record.WriteLost)(e)
			e.round.Expect.Loss, e.round.Expect.LossWindow = spec.LossWindow, spec.Duration(time.Hour)
			e.round.Ledger.LostAfter, e.round.Ledger.LossAfter, e.round.Ledger.LossWindow = 2, 9e9, 0
		}, record.Violated, "2 of them were acknowledged after the fault had taken effect, the last one 9.00 s after it"},
		"at least": {func(e *evidence) { lose(record.WriteLost)(e); e.round.Ledger.LostAtLeast = true }, record.Violated,
			"at least 3 acknowledged writes lost"},
		"divided": {func(e *evidence) { e.round.Expect.Loss, e.round.Ledger.Divided = spec.LossNone, 2 }, record.Violated,
			"2 transactions without an answer applied in part"},
		"divided, and losses are allowed": {func(e *evidence) { e.round.Expect.Loss, e.round.Ledger.Divided = spec.LossAny, 1 },
			record.Unknown, "1 transaction without an answer may have been applied in part"},
		"torn, and losses are allowed": {func(e *evidence) {
			lose(record.WriteTorn)(e)
			e.round.Expect.Loss = spec.LossAny
		}, record.Violated, "of a transaction that was applied in part"},
	})
}

// What a round did not show is neither held nor violated.
func TestVerdictThatSaysNoMoreThanWasSeen(t *testing.T) {
	judged(t, map[string]verdictCase{
		"never back": {func(e *evidence) { e.round.Effects[0].Outage = -1; e.round.Expect.Outage = seconds(39) }, record.Violated, "no operation"},
		"reads continue, writes are out for too long": {func(e *evidence) {
			e.round.Effects = append(e.round.Effects, record.DrillEffect{Kind: record.KindWrites, Client: -1, Before: 100,
				OutageFrom: int64(21 * time.Second), Outage: int64(9 * time.Second)})
			e.round.Expect.Outage = seconds(5)
		}, record.Violated, "the outage of writes was 9.00 s, more than the allowed 5s"},
		"rare reads have gaps": {func(e *evidence) {
			e.round.Effects = append(e.round.Effects, record.DrillEffect{Kind: record.KindReads, Client: -1, Before: 1,
				OutageFrom: int64(21 * time.Second), Outage: int64(9 * time.Second)})
			e.round.Expect.Outage = seconds(5)
		}, record.Holds, ""},
		"load ended sooner than the outage that is allowed": {
			func(e *evidence) { e.round.Effects[0].Outage = -1; e.round.Expect.Outage = seconds(40) }, record.Unknown, "the load ended 40.0 s later"},
		"nothing succeeded before": {func(e *evidence) {
			e.round.Effects[0].Outage, e.round.Effects[0].OutageFrom, e.round.Expect.Outage = -1, -1, seconds(1)
		}, record.Unknown, "outage is not known"},
		"never as fast again": {func(e *evidence) { e.round.Effects[0].Recovery = -1; e.round.Expect.Recovery = seconds(34) },
			record.Violated, "did not come back"},
		"load ended sooner than the recovery that is allowed": {
			func(e *evidence) { e.round.Effects[0].Recovery = -1; e.round.Expect.Recovery = seconds(35) }, record.Unknown, "ended before the allowed recovery"},
		"could not be broken": {func(e *evidence) {
			e.round.Faults[0].Injected, e.round.Faults[0].Hit, e.round.Effects, e.round.Expect.Outage = 0, false, nil, seconds(1)
		}, record.Unknown, "was not injected"},
		"one fault of two":     {func(e *evidence) { e.planned = 2 }, record.Unknown, "1 of 2 faults was not injected because the load had already ended"},
		"nothing acknowledged": {func(e *evidence) { e.round.Ledger.Acknowledged = 0 }, record.Unknown, "none could be lost"},
		"nothing acknowledged, none asked for": {func(e *evidence) {
			e.round.Ledger.Acknowledged, e.round.Ledger.Attempted, e.round.Expect.Loss = 0, 5, spec.LossAny
		}, record.Holds, "none had to survive"},
		"lost, and nobody knows the durability": {func(e *evidence) {
			e.round.Ledger.Inserts[record.WriteLost] = 3
			e.round.Expect.Loss, e.round.Promise = spec.LossUnknown, "the write concern is not known"
		}, record.Unknown, "3 acknowledged writes lost, but it is not known which may be. The write concern is not known"},
		"nothing lost, and nobody knows the durability": {func(e *evidence) { e.round.Expect.Loss = spec.LossUnknown }, record.Unknown,
			"no acknowledged write was lost, but it is not known which may be"},
		"lost, nobody knows when": {func(e *evidence) {
			e.round.Ledger.Inserts[record.WriteLost] = 3
			e.round.Expect.Loss, e.round.Expect.LossWindow = spec.LossWindow, spec.Duration(time.Second)
			e.round.Ledger.LostUntimed = 1
		}, record.Unknown, "1 acknowledged write lost, but when they were acknowledged is not known"},
		"lost, nobody knows the moment of the fault": {func(e *evidence) {
			e.round.Ledger.Inserts[record.WriteLost] = 3
			e.round.Expect.Loss, e.round.Expect.LossWindow = spec.LossWindow, spec.Duration(time.Second)
			e.round.Ledger.LossWindow, e.round.Ledger.LossLeast, e.round.Ledger.LossMost = 9e8, 8e8, 2e9
		}, record.Unknown, "between 800 ms and 2.00 s before the fault took effect"},
		"few checked writes": {func(e *evidence) {
			e.acknowledged = 3
			e.round.Ledger.Attempted, e.round.Ledger.Acknowledged = 28, 28
			e.round.Ledger.Unchecked = map[string]int64{"upserts": 2000, "removals": 972}
		}, record.Unknown, "only 28 of 3,000 writes were checked (0.933 %), without 2,000 upserts, 972 removals"},
		"half of the writes checked": {func(e *evidence) {
			e.round.Ledger.Attempted, e.round.Ledger.Unchecked = 1000, map[string]int64{"upserts": 1000}
		}, record.Holds, "However, only 1,000 of 2,000 writes were checked (50.0 %), without 1,000 upserts"},
		"losses that may be hidden": {func(e *evidence) { e.round.Ledger.Hidden, e.round.Ledger.LostAtLeast = 4, true },
			record.Holds, "Up to 4 may be lost without a trace"},
	})
}

func TestOverallVerdictIsTheWorst(t *testing.T) {
	rounds := []record.DrillRound{{Number: 1, Verdict: record.Holds},
		{Number: 2, Verdict: record.Unknown, Reasons: []string{"no hit"}}}
	if v, why := overall(rounds); v != record.Unknown || why[0] != "round 2: no hit" {
		t.Error(v, why)
	}
	if v, _ := overall(append(rounds, record.DrillRound{Number: 3, Verdict: record.Violated})); v != record.Violated {
		t.Error(v)
	}
	if v, _ := overall(nil); v != record.Unknown {
		t.Error(v)
	}
}

// What no round showed is bounded by the exact binomial bound, and the rounds that it takes to say more are counted
// with it.
func TestStatementOfNoLoss(t *testing.T) {
	got := statement(10, 0)
	for _, part := range []string{"in at most 25.9 % of cases", "less than 1 % takes 299 rounds"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q has no %q", got, part)
		}
	}
}

// The result names who built the server: a release of Percona is not one of MongoDB.
func TestEngineNamesTheVendor(t *testing.T) {
	for _, x := range []struct{ engine, vendor, want string }{
		{"mongod 4.4.6-8", "Percona Server for MongoDB", "Percona Server for MongoDB 4.4.6-8"},
		{"mongod 8.0.12", server.VendorMongoDB, "mongod 8.0.12"},
		{"mongod 8.0.12", "", "mongod 8.0.12"},
		{"documentdb 0.1", "FerretDB", "documentdb 0.1"},
	} {
		c := &runner{result: &record.Drill{Engine: x.engine}}
		if c.nameVendor(x.vendor); c.result.Engine != x.want {
			t.Errorf("%s of %q is named %q, want %q", x.engine, x.vendor, c.result.Engine, x.want)
		}
	}
}

// A planned event after which writes did not succeed again, although the load continued, holds nothing. One after which
// they did holds.
func TestEventWithoutRecovery(t *testing.T) {
	round := &record.DrillRound{WindowEnd: 30e9, Faults: []record.DrillFault{{Fault: spec.ParseAction("step-down:primary"), Injected: 1,
		Done: 2, Hit: true, Event: &record.DrillEvent{Outcome: record.EventCompleted}}},
		Ledger: &record.LedgerResult{Attempted: 100, Acknowledged: 100, LossWindow: -1,
			Inserts: map[string]int64{record.WriteOK: 100}, Reads: []record.LedgerRead{{Source: finalRead}}},
		Effects: []record.DrillEffect{{Kind: record.KindWrites, Client: -1, Outage: 2e9, OutageFrom: 10e9},
			{Kind: record.KindReads, Client: -1, Outage: 1e9, OutageFrom: 10e9}}}
	e := evidence{round: round, planned: 1, acknowledged: 100}
	if verdict, reasons := judge(e); verdict != record.Holds {
		t.Errorf("it recovered, and is %s: %q", verdict, reasons)
	}
	round.Effects[0].Outage = -1
	verdict, reasons := judge(e)
	if verdict != record.Unknown || len(reasons) != 1 || !strings.Contains(reasons[0], "no writes succeeded in the last 20.0 s of the load") {
		t.Errorf("writes did not succeed again, and it is %s: %q", verdict, reasons)
	}
}
