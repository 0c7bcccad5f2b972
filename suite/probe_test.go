package suite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// cutVolumes says which lab's power is to be cut.
type cutVolumes struct {
	asked, ended string
	err          error
}

func (v *cutVolumes) Directory(context.Context, string) (string, error) { return "", nil }

func (v *cutVolumes) Cutter(_ context.Context, lab string) (disk.PowerCutter, func(), error) {
	v.asked = lab
	return cutter{}, func() { v.ended = lab }, v.err
}

type cutter struct{ disk.PowerCutter }

// A probe with a power cut stands on disks that can lose power, and gets who cuts it; one without is as it is written.
func TestPowerCutOfAProbe(t *testing.T) {
	plan := record.PartPlan{Name: "On XFS", Probe: &spec.PartProbe{Storage: spec.Storage{Size: 1 << 30, Filesystem: "xfs"}}}
	v := &cutVolumes{}
	p := &Parts{Volumes: v}
	got, end, err := p.powerCut(t.Context(), plan)
	if got != nil || err != nil || v.asked != "" {
		t.Errorf("without a power cut: %v, %v, asked for %q", got, err, v.asked)
	}
	if lab, err := probeLab(plan.Name, *plan.Probe); lab.Storage.Faults || err != nil {
		t.Errorf("without a power cut: disks %+v, %v", lab.Storage, err)
	}
	end()
	plan.Probe.PowerCut = true
	if lab, err := probeLab(plan.Name, *plan.Probe); !lab.Storage.Faults || err != nil {
		t.Errorf("the disks cannot lose power: %+v, %v", lab.Storage, err)
	}
	if got, end, err = p.powerCut(t.Context(), plan); got == nil || err != nil || v.asked != "probe-on-xfs" {
		t.Errorf("with a power cut: %v, %v, asked for %q", got, err, v.asked)
	}
	if end(); v.ended != "probe-on-xfs" {
		t.Errorf("not released: %q", v.ended)
	}
	v.err = errors.New("no such lab")
	if _, _, err := p.powerCut(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "no such lab") {
		t.Errorf("with a lab that does not exist: %v", err)
	}
}

// A suite names each engine that its labs had once.
func TestEnginesAreNamedOnce(t *testing.T) {
	const open = "documentdb PostgreSQL 18.6, FerretDB v2.7.0"
	all := ""
	for _, engine := range []string{"", open, open, "mongod 8.0.12", "", open} {
		all = joinEngines(all, engine)
	}
	if want := open + "; mongod 8.0.12"; all != want {
		t.Errorf("%q, want %q", all, want)
	}
}
