package faultcut

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// faulty sets a fault of a disk when random access begins.
type faulty struct {
	silent
	set func()
}

func (f faulty) Step(text string) {
	if strings.HasPrefix(text, "random") {
		f.set()
	}
}

// A disk that returns other data, tears writes, or fails ends the probe with words about that, and is not honest.
func TestWrongDataIsNotHonest(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	for name, c := range map[string]struct {
		fault     faultfs.Fault
		operation string
		verdict   record.ProbeVerdict
		finding   string
		says      string
	}{
		"other bytes":  {faultfs.Fault{Kind: faultfs.Corrupt}, disk.Read, record.Lying, "wrong-data", "returned wrong data"},
		"torn writes":  {faultfs.Fault{Kind: faultfs.Torn, Seed: 3}, disk.Mixed, record.Lying, "wrong-data", "returned wrong data"},
		"failed read":  {faultfs.Fault{Kind: faultfs.Error, Ops: []string{"read"}}, disk.Read, record.Suspicious, "io-error", "cannot read a test file"},
		"failed write": {faultfs.Fault{Kind: faultfs.Error, Ops: []string{"write"}}, disk.Write, record.Suspicious, "io-error", "cannot write test files"},
	} {
		t.Run(name, func(t *testing.T) {
			o, client := serve(t)
			v := disktest.Make(t, "ext4", 400, "", filepath.Join(o.Mount, "d0"))
			c.fault.From = 64 << 20 // the metadata of the filesystem stays intact
			set := func() {
				if err := client.Set(t.Context(), "d0", c.fault); err != nil {
					t.Error(err)
				}
			}
			s := disk.Defaults(v.Dir)
			s.Profiles, s.Operations = []string{spec.ProbeRandom}, []string{c.operation}
			s.Ramp, s.Size, s.Segment = []int{2}, 200<<20, 4<<20
			s.Duration = int64(20 * time.Second)
			w, err := record.CreateProbe("", &record.Probe{Specification: s})
			if err != nil {
				t.Fatal(err)
			}
			err = disk.Run(t.Context(), disk.Options{Writer: w, Progress: faulty{set: set}})
			if clearErr := client.Clear(t.Context(), "d0"); clearErr != nil {
				t.Error(clearErr)
			}
			p := w.Probe
			if err == nil || !strings.Contains(err.Error(), c.says) || p.Verdict != c.verdict ||
				!slices.ContainsFunc(p.Validity, func(f measure.Finding) bool { return f.ID == c.finding }) {
				t.Errorf("%v, verdict %s, findings %+v", err, p.Verdict, p.Validity)
			}
		})
	}
}

// pretending is a power cutter that cuts nothing, but says from its cut number says on that a write was discarded.
type pretending struct{ cuts, says int }

func (c *pretending) Cut(context.Context, string) (discarded int64, err error) {
	if c.cuts++; c.says > 0 && c.cuts >= c.says {
		discarded = 1
	}
	return discarded, nil
}

func (*pretending) Return(context.Context, string) error { return nil }
func (*pretending) Covers() string                       { return "nothing" }
func (*pretending) Blind() string                        { return "everything" }

// A power cut without a sign that it cut anything proves nothing, and is repeated until there is one.
func TestPowerCutThatCutsNothing(t *testing.T) {
	for _, c := range []struct {
		says, cuts int
		want       record.ProbeVerdict
	}{
		{says: 0, cuts: 3, want: record.NotProvable},
		{says: 2, cuts: 2, want: record.Honest},
	} {
		cutter := &pretending{says: c.says}
		p, err := probe(t, t.Context(), t.TempDir(), disk.Options{Progress: silent{}, Cutter: cutter})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Durability[len(p.Durability)-1]
		if d.Grade != "C" || d.Verdict != c.want || d.Loose != 0 || cutter.cuts != c.cuts {
			t.Errorf("%+v after %d cuts, want %d", d, cutter.cuts, c.cuts)
		}
	}
}

// A disk that loses the filesystem itself in the power cut is one that lost flushed data.
func TestFilesystemIsLostInThePowerCut(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	o, client := serve(t)
	if err := client.Set(t.Context(), "d0", faultfs.Fault{Kind: faultfs.Lie}); err != nil { // before the filesystem is made
		t.Fatal(err)
	}
	v := disktest.Make(t, "ext4", 400, "", filepath.Join(o.Mount, "d0"))
	p := cut(t, v.Dir, o.Socket)
	d := p.Durability[len(p.Durability)-1]
	if d.Grade != "C" || d.Verdict != record.Lying || d.Missing != 300 || p.Verdict != record.Lying ||
		!strings.Contains(d.Text, "the filesystem is damaged after the power cut") {
		t.Errorf("%+v, overall %s", d, p.Verdict)
	}
}
