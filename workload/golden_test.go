package workload

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What a seed means must not change from release to release: a difference here means that results are no
// longer comparable with earlier ones, which the change log has to say.
func TestOperationsAreThoseOfEarlierReleases(t *testing.T) {
	small := map[string]string{
		"fieldcount": "2", "fieldlength": "8", "insertproportion": "0.2", "scanproportion": "0.2", "readmodifywriteproportion": "0.2",
	}
	var out strings.Builder
	for _, spec := range []Spec{
		{Name: "core", Params: small},
		{Name: "ycsb", Params: small},
		{Name: "person", Run: 217_000_000_000},
		{Name: "location", Params: map[string]string{"batchsize": "1", "insertproportion": "0.5"}},
		{Name: "catalog", Params: map[string]string{"readproportion": "0", "updatestockproportion": "0", "insertproportion": "0.2"}},
	} {
		spec.Records, spec.Seed = 1000, 1
		w := openSpec(t, spec)
		fmt.Fprintf(&out, "## %s: record 7, then operations of worker 3 of 5\n%s\n%s", spec.Name, text(loadOne(w, 7)), digest(w, 3, 5, 12))
	}
	const file = "testdata/operations.golden"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("operations (-want +got; -update accepts them):\n%s", diff)
	}
}
