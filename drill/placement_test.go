package drill

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A round that begins with a member elsewhere is told, because the same fault hits something else then, once and with
// what to do.
func TestRoundsThatBeginElsewhere(t *testing.T) {
	at := func(hosts ...string) *record.Lab {
		l := &record.Lab{Name: "mine"}
		for i, h := range hosts {
			l.Members = append(l.Members, record.LabMember{Name: "rs0-" + string(rune('1'+i)), Host: h})
		}
		return l
	}
	for _, c := range []struct {
		name   string
		spec   spec.Drill
		second *record.Lab
		want   string
	}{
		{"of its own", spec.Drill{Repeat: 3, Lab: &spec.Lab{Name: "mine"}}, at("host2", "host2"), "round 2 began with rs0-1 on host2 instead of host1. .*fresh: true"},
		{"given", spec.Drill{Repeat: 3, Run: spec.Run{Target: "lab:mine"}}, at("host2", "host2"), "round 2 began with rs0-1 on host2 instead of host1. .*Bring the lab up again"},
		{"as before", spec.Drill{Repeat: 3, Lab: &spec.Lab{Name: "mine"}}, at("host1", "host2"), ""},
		{"gone", spec.Drill{Repeat: 3, Lab: &spec.Lab{Name: "mine"}}, nil, ""},
		{"no lab", spec.Drill{Repeat: 3, Run: spec.Run{Target: "mongodb://127.0.0.1/"}}, at("host2", "host2"), ""},
	} {
		machine := &labs{have: at("host1", "host2")}
		c.spec.Defaults()
		d := &record.Drill{}
		k := &runner{spec: c.spec, o: Options{Labs: machine}, result: d}
		k.checkMembers(t.Context(), 1)
		machine.have = c.second
		k.checkMembers(t.Context(), 2)
		k.checkMembers(t.Context(), 3)
		switch {
		case c.want == "" && len(d.Validity) > 0, c.want != "" &&
			(len(d.Validity) != 1 || !matches(c.want, d.Validity[0].Text)):
			t.Errorf("%s: %+v", c.name, d.Validity)
		}
	}
}

func matches(parts, text string) bool {
	for part := range strings.SplitSeq(parts, ".*") {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
