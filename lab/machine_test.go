package lab

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Limits that are more than the machine has are noted: one host's, or else their sum.
func TestLimitsAboveTheMachine(t *testing.T) {
	m := machine{cores: 2, memory: 8 << 30}
	hosts := func(n int, l host.Limits) []topology.HostPlan {
		return slices.Repeat([]topology.HostPlan{{Limits: l}}, n)
	}
	for _, c := range []struct {
		hosts []topology.HostPlan
		want  []string
	}{
		{hosts(3, host.Limits{}), nil},
		{hosts(2, host.Limits{Cores: 1, Memory: 4 << 30}), nil},
		{hosts(1, host.Limits{Cores: 16}), []string{"the limit of a host is 16 cores, but this machine has only 2 cores"}},
		{hosts(4, host.Limits{Cores: 1}), []string{"the limits of all hosts add up to 4 cores"}},
		{hosts(4, host.Limits{Memory: 1 << 40}), []string{"the memory limit of a host is 1.00 TiB, but this machine has only 8.00 GiB"}},
		{hosts(5, host.Limits{Cores: 0.5, Memory: 2 << 30}), []string{"the limits of all hosts add up to 2.5 cores",
			"the memory limits of all hosts add up to 10.0 GiB"}},
	} {
		got := m.notes(c.hosts)
		if len(got) != len(c.want) {
			t.Errorf("%+v: the notes are %q", c.hosts[0].Limits, got)
			continue
		}
		for i, part := range c.want {
			if !strings.HasPrefix(got[i], part) {
				t.Errorf("the note is %q, want %q", got[i], part)
			}
		}
	}
	if m := thisMachine(); m.cores < 1 {
		t.Errorf("this machine has %+v", m)
	}
	none := machine{cores: 2}
	if n := none.notes(hosts(1, host.Limits{Memory: 1 << 40})); n != nil {
		t.Errorf("of a machine whose memory is not known: %q", n)
	}
}

// A plan says so too.
func TestPlanNotesLimits(t *testing.T) {
	asked := spec.Lab{Hosts: spec.Hosts{Mode: host.Isolated, Cores: 4096}, Engine: spec.Engine{Name: "mongod"}}
	asked.Defaults()
	p, err := Plan(t.Context(), t.TempDir(), asked)
	if err != nil {
		t.Logf("this machine has no isolated hosts or no mongod: %v", err) // the notes are there all the same
	}
	if !slices.ContainsFunc(p.Layout.Notes, func(n string) bool { return strings.HasPrefix(n, "the limit of a host is 4096 cores") }) {
		t.Errorf("the notes are %q", p.Layout.Notes)
	}
}
