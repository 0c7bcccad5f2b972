package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The shipped platform files fit the schema, and each of their actions can be planned for a deployment with as many
// members.
func TestShippedPlatforms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/platform/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("only %v (%v)", files, err)
	}
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fitsSchema(t, file, b, schema.Platform)
		p, err := spec.ReadPlatform(strings.NewReader(string(b)))
		if err != nil || len(p.Members) != len(o.Addresses) {
			t.Errorf("%s: %d members, %v", file, len(p.Members), err)
			continue
		}
		text := string(b)
		for i, m := range p.Members {
			text = strings.ReplaceAll(text, `"`+m.Address+`"`, `"`+o.Addresses[i]+`"`)
		}
		here := filepath.Join(o.dir, filepath.Base(file))
		if err := os.WriteFile(here, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, action := range slices.Sorted(maps.Keys(p.Actions)) {
			m := p.Members[1]
			code, out := o.run(t, "drill", o.URI, "--platform", here, "--fault", action+":"+m.Name, "--duration", "60s", "--dry-run")
			if code != exitSuccess ||
				!strings.Contains(out, m.Name+" (address "+o.Addresses[1]+", machine ") || strings.Contains(out, "{member}") ||
				strings.Contains(out, "{machine}") ||
				!strings.Contains(out, "\ninject   "+p.Actions[action].Inject[0]+" ") {
				t.Errorf("%s of %s: exit code %d\n%s", action, file, code, out)
			}
		}
	}
}

// The first document's failure tests can be planned on its own platform: those of vCenter by its API, that of a disk by
// commands.
func TestPolicyStorageOnVSphere(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	newVCenter(t, o)
	b, err := os.ReadFile("../../examples/policy-storage/vsphere.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, "vsphere.yaml", b, schema.Platform)
	shipped, err := spec.ReadPlatform(strings.NewReader(string(b)))
	if err != nil || len(shipped.Members) != len(o.Addresses) {
		t.Fatalf("%+v, %v", shipped, err)
	}
	here, err := os.ReadFile(o.file)
	if err != nil {
		t.Fatal(err)
	}
	_, actions, _ := strings.Cut(string(b), "\nactions:")
	if err := os.WriteFile(o.file, append(here, "actions:"+actions...), 0o600); err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[string]string{"host-power-off:db2": "govc host.shutdown -f /DC0/host/", "disk-fail:db2": "inject   ssh root@"} {
		code, out := o.run(t, "drill", o.URI, "--platform", o.file, "--fault", fault, "--duration", "60s", "--dry-run")
		if code != exitSuccess || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d\n%s", fault, code, out)
		}
	}
}
