package conduct

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// disks are disks whose storage policy can be changed.
type disks struct {
	policy string
	log    []string
	apply  func(policy string) error // nil for nothing
	left   error                     // of Restore
}

func (d *disks) Facts(context.Context) *record.VSphere { return &record.VSphere{Version: "simulated"} }

func (d *disks) Apply(_ context.Context, policy string) (record.StorageChange, error) {
	c := record.StorageChange{Policy: policy, Disks: 2}
	if d.apply != nil {
		if err := d.apply(policy); err != nil {
			return c, err
		}
	}
	if policy != d.policy {
		c.Changed, c.Seconds, d.policy = 2, 3, policy
		d.log = append(d.log, policy)
	}
	return c, nil
}

func (d *disks) Restore(context.Context) error {
	d.log = append(d.log, "restore")
	return d.left
}

func (d *disks) Close() error {
	d.log = append(d.log, "close")
	return nil
}

func policyStudy() spec.Study {
	return smallStudy(func(s *spec.Study) {
		s.Platform, s.Run.StoragePolicy, s.Trials, s.Order = "vsphere.yaml", "plain", 2, spec.OrderBatched
		s.Factors = []spec.Factor{{Name: "policy", Path: "storage_policy", Levels: []spec.Level{{Value: "plain"}, {Value: "striped"}}}}
		s.Batch = []string{"policy"}
	})
}

// onDisks are the options of a study whose trials must find the policy of their configuration applied.
func onDisks(t *testing.T, b *bench, d *disks, dir string) Options {
	t.Helper()
	b.before = func(_ context.Context, q study.Request) error {
		if q.Spec.StoragePolicy != d.policy {
			t.Errorf("trial %d needs %s and has %s", q.Trial, q.Spec.StoragePolicy, d.policy)
		}
		return nil
	}
	o := b.options(dir)
	o.Storage = func(_ context.Context, asked spec.Study) (Storage, error) {
		if asked.Platform != "vsphere.yaml" {
			t.Errorf("the platform is %q", asked.Platform)
		}
		return d, nil
	}
	return o
}

// Each trial runs with the storage policy of its configuration. The time of a change is not that of the trial. At the
// end, the disks get what they had.
func TestStoragePoliciesOfAStudy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, d := newBench(simulatedtest.Target{}), &disks{policy: "of before"}
	s, err := runStudy(t.Context(), policyStudy(), onDisks(t, b, d, dir))
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 4)
	if len(d.log) != 4 || !slices.Equal(d.log[2:], []string{"restore", "close"}) {
		t.Errorf("the changes are %v", d.log)
	}
	if s.VSphere == nil || s.VSphere.Version != "simulated" {
		t.Errorf("the facts are %+v", s.VSphere)
	}
	if mean, n := rebuilt(s.Trials); n != 2 || mean != 3 {
		t.Errorf("%d changes with a mean of %v s", n, mean)
	}
	for _, trial := range s.Trials {
		if trial.Storage == nil || trial.Storage.Disks != 2 || trial.Seconds < 0 {
			t.Errorf("trial %d: %+v", trial.Number, trial)
		}
	}
}

// A policy that cannot be applied fails its trials alone. Disks that do not get back what they had are named.
func TestStoragePoliciesThatFail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, d := newBench(simulatedtest.Target{}), &disks{left: errors.New("vCenter does not answer")}
	d.apply = func(policy string) error {
		if policy == "striped" {
			return errors.New("no space on the datastore")
		}
		return nil
	}
	s, err := runStudy(t.Context(), policyStudy(), onDisks(t, b, d, dir))
	if s == nil {
		t.Fatal(err)
	}
	for _, trial := range s.Trials {
		fails := strings.Contains(trial.Configuration, "striped")
		if fails != (trial.Status == record.TrialFailed) || fails && !strings.Contains(trial.Problem, "no space on the datastore") {
			t.Errorf("%+v", trial)
		}
	}
	for _, f := range s.Validity {
		if f.ID == "storage-left" && strings.Contains(f.Text, "plimsoll platform heal") {
			return
		}
	}
	t.Errorf("the findings are %+v", s.Validity)
}

// An interrupted study restores the policies too.
func TestStoragePoliciesAfterAnInterrupt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, d := newBench(simulatedtest.Target{}), &disks{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := onDisks(t, b, d, dir)
	b.before = func(context.Context, study.Request) error { cancel(); return context.Canceled }
	var stop *campaign.Stop
	if _, err := runStudy(ctx, policyStudy(), o); !errors.As(err, &stop) || stop.Reason != campaign.Interrupted {
		t.Fatal(err)
	}
	if !slices.Contains(d.log, "restore") {
		t.Errorf("the changes are %v", d.log)
	}
}

// Nothing begins without the storage.
func TestStorageThatDoesNotAnswer(t *testing.T) {
	b := newBench(simulatedtest.Target{})
	o := b.options(filepath.Join(t.TempDir(), "study"))
	if _, err := runStudy(t.Context(), policyStudy(), o); err == nil || !strings.Contains(err.Error(), "cannot change storage policies") {
		t.Errorf("error %v", err)
	}
	o.Dir = filepath.Join(t.TempDir(), "study")
	o.Storage = func(context.Context, spec.Study) (Storage, error) { return nil, errors.New("connection refused") }
	var stop *campaign.Stop
	if _, err := runStudy(t.Context(), policyStudy(), o); !errors.As(err, &stop) || stop.Reason != campaign.Unreachable ||
		!strings.Contains(err.Error(), "connection refused") || len(b.asked) != 0 {
		t.Errorf("error %v, %d trials", err, len(b.asked))
	}
}
