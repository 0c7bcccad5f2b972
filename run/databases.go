package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// checkDatabases refuses a workload whose pipelines name a database that is neither that of the run nor one that the
// specification allows. A workload file may come from another person, and $merge and $out write where they say.
func checkDatabases(w workload.Workload, asked spec.Run) error {
	naming, ok := workload.As[workload.Naming](w)
	if !ok {
		return nil
	}
	allowed := append([]string{cmp.Or(asked.Database, spec.DefaultDatabase)}, asked.Workload.AllowOtherDatabases...)
	var where, names []string
	for _, n := range naming.Databases() {
		if slices.Contains(allowed, n.Database) {
			continue
		}
		where = append(where, fmt.Sprintf("%s of %s names the database %s", n.Stage, n.Class, n.Database))
		if !slices.Contains(names, n.Database) {
			names = append(names, n.Database)
		}
	}
	if where == nil {
		return nil
	}
	const most = 5
	if n := len(where) - most; n > 0 {
		where = append(where[:most], fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("%s. A workload stays in the database of its run, %s. Leave db out, or allow the databases with "+
		"--allow-other-databases %s", strings.Join(where, ", "), allowed[0], strings.Join(names, ","))
}
