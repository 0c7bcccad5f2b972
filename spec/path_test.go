package spec

import (
	"reflect"
	"strings"
	"testing"
)

// A path finds a key below optional parts, in maps and in embedded specifications, and knows its words.
func TestPaths(t *testing.T) {
	type whole struct {
		Run
		Lab Lab `yaml:"lab"`
	}
	for _, c := range []struct {
		path string
		text any
		want string
	}{
		{"load.workers", "2k", "2k"},
		{"observe.skip_diagnostic_data", "true", "true"},
		{"labels.a.b", "c", "c"},
		{"durability.journal", "false", "false"},
		{"lab.engine.name", "mongod", "mongod"},
		{"lab.topology.settings.x", 5, "5"},
	} {
		p, ok := PathIn(reflect.TypeFor[whole](), c.path)
		if !ok {
			t.Errorf("there is no %s", c.path)
			continue
		}
		var w whole
		if _, given := p.Get(&w); given {
			t.Errorf("%s is given before it was set", c.path)
		}
		v, err := Convert(p.Type, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		p.Set(&w, v)
		got, given := p.Get(&w)
		if s, ok := reflect.Indirect(got).Interface().(interface{ String() string }); ok && s.String() != c.want || !given {
			t.Errorf("%s is %v", c.path, got)
		}
	}
	for _, path := range []string{"load.worker", "load.workers.more", "lab.engine.nam", ".load", "load..workers"} {
		if p, ok := PathIn(reflect.TypeFor[whole](), path); ok {
			t.Errorf("%s is %+v", path, p)
		}
	}
	p, _ := PathIn(reflect.TypeFor[whole](), "durability.read_concern")
	if words := strings.Join(p.Enum(), " "); words != "local available majority linearizable snapshot" {
		t.Errorf("the words are %q", words)
	}
}
