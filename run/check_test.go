package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestCheck(t *testing.T) {
	check := NewCheck()
	for _, c := range []struct {
		what   string
		change func(*spec.Run)
		want   string // "" if it can be done
	}{
		{"nothing", func(*spec.Run) {}, ""},
		{"a server", func(s *spec.Run) { s.Target, s.Durability.W = "mongodb://u:p@h1,h2/?replicaSet=rs0", "3" }, ""},
		{"a name that would have to be looked up", func(s *spec.Run) { s.Target = "mongodb+srv://nowhere.invalid/" }, ""},
		{"an address that cannot be read", func(s *spec.Run) { s.Target = "mongodb://u:secret@h:port/" }, "cannot be read"},
		{"an unknown target", func(s *spec.Run) { s.Target = "redis://h/" }, "unknown target"},
		{"an unknown workload", func(s *spec.Run) { s.Workload.Name = "aa" }, "unknown workload"},
		{"an unknown parameter", func(s *spec.Run) { s.Workload.Params = map[string]string{"fieldlenth": "3"} }, "fieldlength"},
		{"three members of one", func(s *spec.Run) { s.Durability.W = "3" }, "embedded:x has one member"},
		{"a majority of one", func(s *spec.Run) { s.Durability.W = "majority" }, ""},
		{"a secondary of one", func(s *spec.Run) { s.Durability.ReadPreference = "secondary" }, "has no secondary"},
		{"an objective of the workload", func(s *spec.Run) { s.Objectives = []string{"read.p99<5ms", "service.p99<5ms", "errors<1%"} }, ""},
		{"an objective of another workload", func(s *spec.Run) { s.Objectives = []string{"raed.p99<5ms"} },
			`has no operations of class "raed", did you mean read? (known: read, update`},
		{"two processes on one directory", func(s *spec.Run) { s.Load.Clients = 2 }, "process at a time can open embedded:x"},
	} {
		asked := spec.Run{Target: "embedded:x"}
		c.change(&asked)
		asked.Defaults()
		for _, f := range []func(spec.Run) error{NewCheck(), check} {
			err := f(asked)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.what, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the password is in %q", c.what, err)
			}
		}
	}
}

// A target of one member knows no tags, so a write concern with one is a slip.
func TestWriteConcernsOfOneMember(t *testing.T) {
	for w, fits := range map[string]bool{"": true, "0": true, "1": true, "majority": true, "3": false, "most": false, "-1": false} {
		for _, target := range []string{"embedded:x", "null:"} {
			asked := spec.Run{Target: target, Durability: spec.Durability{W: w}}
			asked.Defaults()
			if err := NewCheck()(asked); (err == nil) != fits {
				t.Errorf("%s with w: %q: %v", target, w, err)
			}
		}
	}
}
