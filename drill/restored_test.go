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
	if got := notRestored(before, headless, lag{}); !strings.Contains(got, "no member has replaced rs0-1 as primary") {
		t.Errorf("without a primary: %q", got)
	}
	if got := notRestored(before, led, lag{}); got != "" {
		t.Errorf("with another primary: %q", got)
	}
	if got, want := deadHosts(led), "redundancy was not fully restored, because host1 stays dead (down: rs0-1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A member that was started elsewhere is not away.
	moved := record.Lab{Faults: dead, Members: []record.LabMember{member("rs0-1", "host2", "primary", "running")}}
	if got := deadHosts(moved); got != "" {
		t.Errorf("started elsewhere: %q", got)
	}
}
