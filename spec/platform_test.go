package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const goodPlatform = `
members:
  - {name: db1, address: "db1:27017", machine: m1, zone: a}
  - {name: db2, address: "[::1]:27018"}
actions:
  kill: {inject: [ssh, "{machine}", x], heal: [y], witness: [z], failure_mode: crash, timeout: 5s}
  pause: {inject: [p]}
`

func TestReadPlatform(t *testing.T) {
	p, err := ReadPlatform(strings.NewReader(goodPlatform))
	if err != nil {
		t.Fatal(err)
	}
	if m := p.Members; len(m) != 2 || m[0].Machine != "m1" || m[1].Machine != "::1" {
		t.Errorf("the members are %+v", m)
	}
	if k := p.Actions["kill"]; k.Timeout.Std() != 5*time.Second || k.FailureMode != "crash" ||
		p.Actions["pause"].Timeout.Std() != 30*time.Second {
		t.Errorf("the actions are %+v", p.Actions)
	}
}

// Each mistake in a platform file is one sentence that names the key.
func TestMistakesInPlatforms(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(goodPlatform, old, with, 1) }
	for text, want := range map[string]string{
		"":                  "members: there is none",
		"members: []":       "members: there is none",
		"members: {db1: x}": "members needs a list",
		"members: [db1]":    "needs keys below it",
		"nodes: []":         `unknown key "nodes"`,
		"members: [{name: db1, address: 'db1:1'}]": "actions: there is none",
		change("name: db1", "name: ''"):            "members[0].name: there is none",
		change("name: db1", "name: primary"):       `members[0].name: "primary" contains a slash or a space, or is the name of a role`,
		change("name: db1", "name: a/b"):           `members[0].name: "a/b" contains a slash`,
		change("name: db2", "name: db1"):           "members[1]: db1 ([::1]:27018) has the name or the address of another member",
		change(`"db1:27017"`, "db1"):               `members[0].address: "db1" is not of the form HOST:PORT`,
		change("zone: a", "rack: a"):               `unknown key "rack"`,
		change("inject: [p]", "heal: [p]"):         "actions.pause.inject: there is no command",
		change("inject: [p]", "inject: p"):         "actions.pause.inject needs a list",
		change("inject: [p]", "inject: ['']"):      "actions.pause.inject: the first word is empty",
		change("inject: [p]", `inject: [p, "\0"]`): "actions.pause.inject: a word contains a zero byte",
		change("inject: [p]", "inject: [p, [q]]"):  "a single value is needed here",
		change("crash", "crush"):                   `actions.kill.failure_mode: unknown value "crush", did you mean crash?`,
		change("5s", "5"):                          "timeout",
		change("5s", "-5s"):                        "timeout",
		change("5s", "1h"):                         "actions.kill.timeout: 1h is not between 0 and 10m",
		"members: [":                               "this is not YAML",
		goodPlatform + "---\na: 1":                 "there is a second document",
	} {
		_, err := ReadPlatform(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A drill breaks a target that is not a lab only by commands, and a lab never.
func TestDrillsWithCommands(t *testing.T) {
	for text, want := range map[string]string{
		"{run: {target: 'mongodb://h/'}, platform: p.yaml, faults: [{fault: kill:primary}]}":                 "",
		"{run: {target: 'mongodb://h/'}, faults: [{exec: {inject: [x]}}]}":                                   "",
		"{run: {target: 'mongodb://h/'}, faults: [{fault: exec:primary, exec: {inject: [x]}}]}":              "",
		"{run: {target: 'mongodb://h/'}, faults: [{fault: kill:primary, exec: {inject: [x]}}]}":              "Write exec, or exec:MEMBER",
		"{run: {target: 'mongodb://h/'}, faults: [{exec: {heal: [x]}}]}":                                     "faults[0].exec.inject: there is no command",
		"{run: {target: 'lab:a'}, platform: p.yaml, faults: [{fault: kill:primary}]}":                        "a lab injects its faults itself",
		"{run: {target: 'lab:a'}, faults: [{exec: {inject: [x]}}]}":                                          "a lab injects its faults itself",
		"{run: {target: 'mongodb://h/'}, external: true, platform: p.yaml, faults: [{exec: {inject: [x]}}]}": "exclude each other",
	} {
		d, err := ReadDrill(strings.NewReader(text))
		if err == nil {
			err = d.Complete()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadPlatform(f *testing.F) {
	for _, s := range []string{goodPlatform, "members: [{name: a, address: 'a:1'}]\nactions: &a {kill: *a}", "actions: {kill: {timeout: 1e9s}}", "{", "members: &m [*m]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ReadPlatform(strings.NewReader(s))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: the error has several lines: %v", s, err)
			}
			return
		}
		if _, err := json.Marshal(p); err != nil || len(p.Members) == 0 || len(p.Actions) == 0 {
			t.Errorf("%q was read as %+v: %v", s, p, err)
		}
	})
}
