package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

func TestCheck(t *testing.T) {
	check := NewCheck()
	for _, c := range []struct {
		what   string
		change func(*record.RunSpec)
		want   string // "" if it can be done
	}{
		{"nothing", func(*record.RunSpec) {}, ""},
		{"a server", func(s *record.RunSpec) { s.Target, s.Durability.W = "mongodb://u:p@h1,h2/?replicaSet=rs0", "3" }, ""},
		{"a name that would have to be looked up", func(s *record.RunSpec) { s.Target = "mongodb+srv://nowhere.invalid/" }, ""},
		{"an address that cannot be read", func(s *record.RunSpec) { s.Target = "mongodb://u:secret@h:port/" }, "cannot be read"},
		{"an unknown target", func(s *record.RunSpec) { s.Target = "redis://h/" }, "unknown target"},
		{"an invalid specification", func(s *record.RunSpec) { s.Client = "wired" }, "did you mean wire?"},
		{"an unknown workload", func(s *record.RunSpec) { s.Workload.Name = "aa" }, "unknown workload"},
		{"an unknown parameter", func(s *record.RunSpec) { s.Workload.Params = map[string]string{"fieldlenth": "3"} }, "fieldlength"},
		{"three members of one", func(s *record.RunSpec) { s.Durability.W = "3" }, "embedded:x has one member"},
		{"a majority of one", func(s *record.RunSpec) { s.Durability.W = "majority" }, ""},
		{"a secondary of one", func(s *record.RunSpec) { s.Durability.ReadPreference = "secondary" }, "has no secondary"},
		{"two processes on one directory", func(s *record.RunSpec) { s.Load.Clients = 2 }, "load.clients: embedded:x"},
	} {
		spec := record.RunSpec{Target: "embedded:x"}
		c.change(&spec)
		spec.Defaults()
		for _, f := range []func(record.RunSpec) error{Check, check} {
			err := f(spec)
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
			spec := record.RunSpec{Target: target, Durability: record.DurabilitySpec{W: w}}
			spec.Defaults()
			if err := Check(spec); (err == nil) != fits {
				t.Errorf("%s with w: %q: %v", target, w, err)
			}
		}
	}
}
