package html

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

func probe(t *testing.T, o recordtest.Probe) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-record")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The page of a probe has its verdict, all charts and tables, and names in it stay text.
func TestProbePage(t *testing.T) {
	s := openAll(t, probe(t, recordtest.Probe{Name: "/data/<script>alert(1)</script>"}))[0]
	page := pageOf(t, s)
	for _, want := range []string{"lying", "Operations per second over threads", "Latency over threads", "Commit latency over clients", "Share of flushes that take longer",
		"Bytes per second over time", "Commit latency over time", "fell for good", "flush accounting", "w:majority", "plimsoll disk"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(page, "<script>alert") {
		t.Error("a name became a script")
	}
	if two := pageOf(t, s, s); !strings.Contains(two, "lying") {
		t.Error("two probes on a page are not shown")
	}
}
