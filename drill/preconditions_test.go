package drill

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A deployment of which a member is down or late before the fault is refused, unless that is wanted; then the result
// says it, and the drill does not wait for that member.
func TestDeploymentIsWhole(t *testing.T) {
	late := 30.0
	member := func(name, state string) record.LabMember {
		return record.LabMember{Name: name, State: state, Role: "secondary", Kind: "mongod", Set: "rs0"}
	}
	for name, c := range map[string]struct {
		change func(*record.LabMember)
		says   string
	}{
		"whole":      {func(*record.LabMember) {}, ""},
		"down":       {func(m *record.LabMember) { m.State = "unreachable" }, "c is unreachable"},
		"late":       {func(m *record.LabMember) { m.LagSeconds = &late }, "c is 30"},
		"recovering": {func(m *record.LabMember) { m.State = "recovering" }, "c is recovering"},
	} {
		var before record.Lab
		for _, name := range []string{"a", "b", "c"} {
			before.Members = append(before.Members, member(name, "running"))
		}
		c.change(&before.Members[2])
		r := &round{drill: &runner{result: &record.Drill{}}, result: &record.DrillRound{Number: 1},
			target: &target{before: before}}
		err := r.isWhole()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		r.drill.o.Anyway = true
		if err := r.isWhole(); err != nil {
			t.Errorf("%s, wanted: %v", name, err)
		}
		found := r.drill.result.Validity
		told := len(found) == 1 && found[0].Severity == measure.Warning && strings.Contains(found[0].Text, c.says)
		if told != (c.says != "") {
			t.Errorf("%s, wanted: %+v", name, found)
		}
		if r.result.Number = 2; r.isWhole() != nil {
			t.Errorf("%s: a later round is refused", name)
		}
	}
	two := record.Lab{Members: []record.LabMember{member("a", "running"), member("b", "running")}}
	kill := []spec.Fault{{Action: spec.ParseAction("kill:secondary")}}
	if minority(two, kill, 2) == "" || minority(two, kill, 3) != "" {
		t.Error("members that are not listed do not count")
	}
	nonvoting := record.Lab{Members: append(slices.Clone(two.Members), member("c", "unreachable"), member("d", "running"))}
	for voting, want := range map[int]string{0: "leaves 2 of 4", 3: "leaves 1 of 3", 4: "leaves 2 of 4", 5: "", 1: ""} {
		if got := minority(nonvoting, kill, voting); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("of 4 members %d vote, and one is down: %q", voting, got)
		}
	}
	on := record.Lab{Members: []record.LabMember{member("a", "running"), member("b", "running")}}
	on.Members[0].Host, on.Members[1].Host = "n1", "n2"
	power := []spec.Fault{{Action: spec.ParseAction("power-off:n1")}}
	if minority(on, power, 0) == "" {
		t.Error("the host of a member of two takes no majority")
	}
	on.Members[1].Host = "n1"
	if text := minority(on, power, 0); text != "" {
		t.Errorf("a host with all members is meant to take the majority, and it says: %s", text)
	}
	down := record.Lab{Members: []record.LabMember{member("a", "running"), member("c", "unreachable")}}
	if text := notRestored(down, down, lag{}); text != "" {
		t.Errorf("it waits for a member that was down before: %s", text)
	}
}

// Without a majority before the fault, a drill whose writes did not succeed again holds nothing.
func TestNothingHoldsWithoutAMajority(t *testing.T) {
	round := &record.DrillRound{Faults: []record.DrillFault{{Injected: 1, Hit: true}},
		Ledger: &record.LedgerResult{Attempted: 100, Acknowledged: 100, LossWindow: -1,
			Inserts: map[string]int64{record.WriteOK: 100}, Reads: []record.LedgerRead{{Source: finalRead}}},
		Effects: []record.DrillEffect{{Kind: record.KindWrites, Client: -1, Outage: -1}}}
	e := evidence{round: round, planned: 1, acknowledged: 100}
	if verdict, reasons := judge(e); verdict != record.Holds {
		t.Fatalf("%s, %q", verdict, reasons)
	}
	e.lacked = "c is unreachable"
	if verdict, reasons := judge(e); verdict != record.Unknown || !strings.Contains(strings.Join(reasons, " "), "c is unreachable") {
		t.Errorf("%s, %q", verdict, reasons)
	}
	e.lacked, e.minority = "", "kill:a leaves 1 of 3 members of rs0, less than a majority"
	verdict, reasons := judge(e)
	if verdict != record.Unknown || !strings.Contains(strings.Join(reasons, " "), e.minority) {
		t.Errorf("%s, %q", verdict, reasons)
	}
	e.lacked, e.minority = "c is unreachable", ""
	round.Effects[0].Outage = 5e9
	if verdict, reasons := judge(e); verdict != record.Holds {
		t.Errorf("an outage that ended: %s, %q", verdict, reasons)
	}
}
