package topology

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A lab without a database has a volume for each member, on hosts in turn, and nothing that could be loaded.
func TestVolumesAlone(t *testing.T) {
	asked := spec.Lab{Name: "bare", Engine: spec.Engine{Name: "none"}, Topology: spec.Topology{Members: 3},
		Hosts: spec.Hosts{Count: 2}}
	asked.Defaults()
	if err := asked.Validate(); err != nil {
		t.Fatal(err)
	}
	l, err := Plan(asked)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range l.Members {
		if !m.Volume {
			t.Errorf("%+v has no volume", m)
		}
		got = append(got, m.Name+" on "+m.Host)
	}
	if text := strings.Join(got, ", "); len(l.Hosts) != 2 || text != "vol-1 on host1, vol-2 on host2, vol-3 on host1" {
		t.Errorf("%s; hosts %+v", text, l.Hosts)
	}
	c, err := New(t.Context(), Site{Spec: asked, Layout: l, Hosts: map[string]host.Host{"host1": nil, "host2": nil}})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Nodes()) != 3 || len(c.URIs()) != 0 {
		t.Errorf("%d nodes, addresses %v", len(c.Nodes()), c.URIs())
	}
	if _, err := c.Primary(t.Context(), ""); err == nil || c.StepDown(t.Context(), "") == nil {
		t.Errorf("a primary of volumes: %v", err)
	}
}

// What only a database has is refused by its key.
func TestVolumesAloneRefuse(t *testing.T) {
	yes := true
	for want, change := range map[string]func(*spec.Lab){
		"topology: ":     func(s *spec.Lab) { s.Topology.Kind = "sharded" },
		"topology: w":    func(s *spec.Lab) { s.Topology.Arbiter = yes },
		"engine: none":   func(s *spec.Lab) { s.Engine.Cache = 64 << 20 },
		"engine: none h": func(s *spec.Lab) { s.Engine.Authentication = yes },
	} {
		asked := spec.Lab{Name: "bare", Engine: spec.Engine{Name: "none"}}
		change(&asked)
		asked.Defaults()
		if err := asked.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q is not refused: %v", want, err)
		}
	}
}
