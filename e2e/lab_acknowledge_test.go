//go:build !race

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// TestAcknowledgedByANumber has two sets of three members. One waits for all three, the other for a majority. While a
// standby is paused, only the second one acknowledges writes.
func TestAcknowledgedByANumber(t *testing.T) {
	inTurn(t, 20)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	const all, most = "e2e-all-three", "e2e-most-of-three"
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte("topology: {members: 3, acknowledge: 3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	labOf(t, all, "--engine", "documentdb", file)
	labOf(t, most, "--engine", "documentdb", "--members", "3")
	number, majority := address(t, all, "--durability", "w3"), address(t, most, "--durability", "majority")
	for _, uri := range []string{number, majority} {
		if err := write(deadline(t), uri, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{all, most} {
		plimsoll(t, "lab", "fail", name, "pause", "rs0-3").must(t, 0)
	}
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := write(short, number, "a", 2); err == nil {
		t.Error("a write that all three have to have was acknowledged while one was paused")
	}
	for _, uri := range []string{majority, address(t, all, "--durability", "durable")} {
		if err := write(deadline(t), uri, "a", 3); err != nil {
			t.Errorf("a write that needs fewer was not acknowledged: %v", err)
		}
	}
	plimsoll(t, "lab", "revert", all, "--all").must(t, 0)
	until(t, "all three have writes again", func() bool { return insert(t.Context(), number, "a", int(10+sequence.Add(1))) == nil })
	if e := plimsoll(t, "run", "lab:"+all, "--w", "majority", "--duration", "1s").must(t, 2); !strings.Contains(e.stderr, "topology.acknowledge") {
		t.Errorf("a majority of a set that waits for all was not refused in words: %s", e.stderr)
	}
}
