package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
)

// One is singular.
func TestGroupsAreNamedInEnglish(t *testing.T) {
	groups := []record.HistoryGroup{
		{Common: map[string]string{"workload.name": "a", "data.records": "1", "load.workers": "1"}},
		{Common: map[string]string{"workload.name": "a", "data.records": "1,000", "load.workers": "16"}},
	}
	name(groups)
	var got []string
	for _, g := range groups {
		got = append(got, g.Name)
	}
	if d := cmp.Diff([]string{"workload a, 1 record, 1 worker", "workload a, 1,000 records, 16 workers"}, got); d != "" {
		t.Error(d)
	}
}
