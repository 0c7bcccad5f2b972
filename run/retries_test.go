package run

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// The official driver sends a read again whose connection was lost. The operation succeeds, so only the
// count of commands shows that something happened; it must reach the record. There is one worker, because the
// driver tries a second time only: that of a second worker may end with the pool that the first one lost.
func TestHiddenRetriesReachTheRecord(t *testing.T) {
	t.Parallel()
	var finds atomic.Int64
	r, err := null.Listen(null.Options{Count: 100, Fail: func(_ uint64, command string) *null.Failure {
		if command == "find" && finds.Add(1)%50 == 0 {
			return &null.Failure{Form: null.DropConnection}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	asked := spec.Run{
		Target: r.URI(), Client: ClientDriver,
		Workload:  spec.Workload{Name: "c", Records: 100},
		Load:      spec.Load{Workers: 1, Operations: 300, Timeout: spec.Duration(10 * time.Second)},
		LoadPhase: spec.LoadPhase{Skip: true},
	}
	asked.Defaults()
	result, err := Execute(t.Context(), asked, Options{Dir: filepath.Join(t.TempDir(), "record")})
	if err != nil {
		t.Fatal(err)
	}
	all := result.Phase("measure").All
	if all.Counts.Succeeded != 300 {
		t.Errorf("%d of 300 operations succeeded; the retries should have hidden every lost connection: %+v", all.Counts.Succeeded, all.Outcomes)
	}
	if all.Retries < 4 || all.Attempts != 300+all.Retries {
		t.Errorf("%d attempts, %d of them retries; want at least 4 retries beyond 300 attempts", all.Attempts, all.Retries)
	}
}
