package spec

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// A fault is written in YAML and JSON as it always was, and is what was read.
func TestFaultForms(t *testing.T) {
	want := Fault{Action: Action{Name: "disk-slow", Target: "rs0/primary/d1"}, At: Duration(5 * time.Second), For: Duration(90 * time.Second),
		Rate: 1500, Delay: Duration(1500 * time.Microsecond), Ops: []string{"flush"}, Probability: 0.25, Seed: 7}
	text := "faults:\n  - {fault: 'disk-slow:rs0/primary/d1', at: 5s, for: 1m30s, rate: 1500B, delay: 1.5ms, ops: [flush], probability: 0.25, seed: 7}\n"
	d, err := ReadDrill(strings.NewReader(text))
	if err != nil || len(d.Faults) != 1 || !reflect.DeepEqual(d.Faults[0], want) {
		t.Fatalf("%+v, %v", d.Faults, err)
	}
	b, err := json.Marshal(want)
	if err != nil || !strings.HasPrefix(string(b), `{"fault":"disk-slow:rs0/primary/d1","at":"5s","for":"1m30s",`) {
		t.Errorf("as JSON: %s, %v", b, err)
	}
	var got Fault
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from JSON: %+v, %v", got, err)
	}
	y, err := yaml.Marshal(want)
	if err != nil || !strings.HasPrefix(string(y), "fault: disk-slow:rs0/primary/d1\n") {
		t.Errorf("as YAML: %s, %v", y, err)
	}
	got = Fault{}
	if err := yaml.Unmarshal(y, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from YAML: %+v, %v", got, err)
	}
}

// What is no ACTION:PLACE is kept as it is written, for the error and for records of what others broke.
func TestActionText(t *testing.T) {
	for text, want := range map[string]Action{
		"kill:primary": {"kill", "primary"}, "external": {Name: "external"}, "": {}, ":primary": {Target: "primary"}, "a:b:c": {"a", "b:c"},
	} {
		got := ParseAction(text)
		if got != want || got.String() != text {
			t.Errorf("%q is %+v, as text %q", text, got, got)
		}
	}
	for text, want := range map[string]string{
		"faults: [{fault: [kill, primary]}]": "a single value is needed here",
		"faults: [{fault: {action: kill}}]":  "a single value is needed here",
	} {
		if _, err := ReadDrill(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
