package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// A workload whose pipeline names another database than that of the run is refused before the run, unless the
// specification allows this database. Its own database is no other one.
func TestWorkloadStaysInItsDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sums.yaml")
	for _, c := range []struct {
		into, database string
		allowed        []string
		want           string // "" if the run is possible
	}{
		{"sums", "", nil, ""},
		{"{coll: sums}", "", nil, ""},
		{"{db: plimsoll, coll: sums}", "", nil, ""},
		{"{db: shop, coll: sums}", "shop", nil, ""},
		{"{db: production, coll: users}", "", nil, "$merge of sum names the database production"},
		{"{db: plimsoll, coll: users}", "shop", nil, "--allow-other-databases plimsoll"},
		{"{db: production, coll: users}", "", []string{"other"}, "--allow-other-databases production"},
		{"{db: production, coll: users}", "", []string{"other", "production"}, ""},
	} {
		text := "name: x\ncollections: [{name: c, count: 3, document: {a: 1}}]\n" +
			"operations:\n  - {name: sum, weight: 1, aggregate: c, pipeline: [{$merge: {into: " + c.into + "}}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		asked := spec.Run{Target: "mongodb://h", Database: c.database,
			Workload: spec.Workload{Name: file, AllowOtherDatabases: c.allowed}}
		if err := asked.Complete(); err != nil {
			t.Fatal(err)
		}
		for what, check := range map[string]func(spec.Run) error{"the check": NewCheck(),
			"the check of an engine": func(asked spec.Run) error { return CheckEngine(asked, "") },
			"the run": func(asked spec.Run) error {
				_, err := Execute(t.Context(), asked, Options{})
				return err
			}} {
			if what == "the run" && c.want == "" {
				continue // there is no server
			}
			if err := check(asked); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("into %s, database %q, allowed %v: %s: %v", c.into, c.database, c.allowed, what, err)
			}
		}
	}
}
