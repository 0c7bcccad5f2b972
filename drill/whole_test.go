package drill

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// A set whose primary is dead for good is not whole before another member leads it, and then it still lacks one.
func TestPrimaryThatStaysDead(t *testing.T) {
	member := func(name, host, role, state string) record.LabMember {
		return record.LabMember{Name: name, Kind: "postgres", Host: host, Role: role, State: state}
	}
	before := record.Lab{Members: []record.LabMember{member("rs0-1", "host1", "primary", "running"), member("rs0-2", "host2", "standby", "running")}}
	dead := []record.LabFault{{Action: "power-off", Target: "host1"}}
	headless := record.Lab{Faults: dead, Members: []record.LabMember{member("rs0-1", "host1", "unknown", "down"), member("rs0-2", "host2", "standby", "running")}}
	led := record.Lab{Faults: dead, Members: []record.LabMember{member("rs0-1", "host1", "unknown", "down"), member("rs0-2", "host2", "primary", "running")}}
	if got := notWhole(before, headless, noLag); !strings.Contains(got, "nobody is the primary in the place of rs0-1") {
		t.Errorf("without a primary: %q", got)
	}
	if got := notWhole(before, led, noLag); got != "" {
		t.Errorf("with another primary: %q", got)
	}
	if got, want := lacking(led), "redundancy was not all back: as long as host1 stays dead, rs0-1 is away"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A member that was started elsewhere is not away.
	moved := record.Lab{Faults: dead, Members: []record.LabMember{member("rs0-1", "host2", "primary", "running")}}
	if got := lacking(moved); got != "" {
		t.Errorf("started elsewhere: %q", got)
	}
}
