package host_test

import (
	"os"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// modes are those that this machine can do.
func modes(t *testing.T) []string {
	t.Helper()
	if err := host.Check(host.Isolated); err != nil {
		if os.Getenv("PLIMSOLL_REQUIRE_ENGINE") == "1" { // where all must be tested
			t.Error(err)
		}
		notrun.Here(t, "isolated hosts are not tested: %v", err)
		return []string{host.Plain}
	}
	return []string{host.Plain, host.Isolated}
}
