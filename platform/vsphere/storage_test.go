package vsphere

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/vsphere/vspheretest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func (c *center) storage(t *testing.T, journals string) *Storage {
	t.Helper()
	s, err := OpenStorage(t.Context(), "mongodb://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", journals, c.file, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A policy is applied to all disks, whose compliance and copies are awaited. At the end, they have what they had
// before.
func TestStoragePolicies(t *testing.T) {
	t.Parallel()
	c := newCenter(t, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
	a := c.AddArray()
	before := a.Policies()
	journals := filepath.Join(t.TempDir(), "journals")
	s := c.storage(t, journals)
	if f := s.Facts(t.Context()); len(f.Problems) > 0 || len(f.Machines) != 3 ||
		!slices.Equal(f.Machines[0].Disks[0].Policies, []string{vspheretest.Standard}) ||
		f.Machines[0].Disks[0].Compliance != "compliant" || !f.Clusters[0].VSAN {
		t.Errorf("the facts are %+v", f)
	}
	change, err := s.Apply(t.Context(), vspheretest.Other)
	if err != nil || change.Changed != 3 || change.Disks != 3 || change.Compliance != "compliant" ||
		change.Resync == nil ||
		change.Resync.Objects != 2 || change.Resync.Bytes != 2<<30 || change.Resync.Seconds <= 0 ||
		change.Seconds < change.Resync.Seconds {
		t.Errorf("%+v, %+v, %v", change, change.Resync, err)
	}
	for disk, policy := range a.Policies() {
		if policy != vspheretest.OtherID {
			t.Errorf("disk %s has %s", disk, policy)
		}
	}
	if again, err := s.Apply(t.Context(), vspheretest.Other); err != nil || again.Changed != 0 || a.Changed() != 3 {
		t.Errorf("the same policy again: %+v, %v", again, err)
	}
	if back, err := s.Apply(t.Context(), vspheretest.Standard); err != nil || back.Changed != 3 ||
		!slices.Contains(back.Rules, "VSAN.stripeWidth = 1") {
		t.Errorf("back: %+v, %v", back, err)
	}
	if _, err := s.Apply(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), "It has: ") ||
		!strings.Contains(err.Error(), vspheretest.Standard) {
		t.Errorf("an unknown policy: %v", err)
	}
	if _, err := s.Apply(t.Context(), vspheretest.Other); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.Policies(); !maps.Equal(got, before) {
		t.Errorf("the disks have %v, want %v", got, before)
	}
	if left, err := platform.Left(journals); err != nil || len(left) > 0 {
		t.Errorf("the journal has %+v, %v", left, err)
	}
}

// A study that was killed has left the first policies in the journal. Nothing is changed again before they are
// restored.
func TestStoragePoliciesAfterTheEnd(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1")
	a := c.AddArray()
	before := a.Policies()
	journals := filepath.Join(t.TempDir(), "journals")
	s := c.storage(t, journals)
	if _, err := s.Apply(t.Context(), vspheretest.Other); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "plimsoll platform heal") {
		t.Errorf("the end says %v", err)
	}
	if _, err := c.storage(t, journals).Apply(t.Context(), vspheretest.Standard); err == nil ||
		!strings.Contains(err.Error(), "plimsoll platform heal") {
		t.Errorf("the next study says %v", err)
	}
	var said []string
	err := platform.HealAll(t.Context(), journals, platform.Healers{Kind: Healer{env}},
		func(text string) { said = append(said, text) })
	if err != nil || len(said) != 2 || !strings.Contains(said[0],
		"disk 204 of /DC0/vm/DC0_C0_RP0_VM0 to "+vspheretest.StandardID) {
		t.Errorf("%q, %v", said, err)
	}
	if got := a.Policies(); !maps.Equal(got, before) {
		t.Errorf("the disks have %v, want %v", got, before)
	}
}

// Disks that never comply end the wait at its limit, or when the study is interrupted.
func TestStoragePoliciesNeverComply(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1")
	c.file.VSphere.Rebuild = spec.Duration(300 * time.Millisecond)
	a := c.AddArray()
	s := c.storage(t, filepath.Join(t.TempDir(), "journals"))
	a.Takes = 1 << 30
	_, err := s.Apply(t.Context(), vspheretest.Other)
	if err == nil || !strings.Contains(err.Error(), "raise vsphere.rebuild") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Apply(ctx, vspheretest.Standard); err == nil {
		t.Error("an interrupted change succeeded")
	}
	if err := s.Restore(t.Context()); err != nil || a.Policies()["vm-57:204"] == vspheretest.OtherID {
		t.Errorf("%v, the disks have %v", err, a.Policies())
	}
}
