package faultcut

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// hanging lets the device hang once it was seen to work, and go on after two seconds in which nothing was done.
type hanging struct {
	silent
	hang, goOn func()
	hung       atomic.Bool
	still      atomic.Int32 // seconds without an operation while it hung
	after      atomic.Int64 // operations since it went on
}

func (h *hanging) Second(s record.ProbeSecond) {
	switch {
	case s.Operations > 0 && !h.hung.Load():
		h.hung.Store(true)
		h.hang()
	case h.hung.Load() && s.Operations == 0:
		if h.still.Add(1) == 2 {
			h.goOn()
		}
	case h.still.Load() >= 2:
		h.after.Add(s.Operations)
	}
}

// Threads that wait for a device that hangs keep nobody else from working: the probe tells each second that nothing was
// done, and goes on with the device.
func TestHungDevice(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	o, client := serve(t)
	v := disktest.Make(t, "ext4", 400, "", filepath.Join(o.Mount, "d0"))
	goOn := func() {
		if err := client.Clear(context.WithoutCancel(t.Context()), "d0"); err != nil {
			t.Error(err)
		}
	}
	late := time.AfterFunc(time.Minute, goOn) // if nobody says that it hangs
	defer late.Stop()
	h := &hanging{goOn: goOn, hang: func() {
		if err := client.Set(t.Context(), "d0", faultfs.Fault{Kind: faultfs.Hang}); err != nil {
			t.Error(err)
		}
	}}
	s := disk.Defaults(v.Dir)
	s.Profiles, s.Operations, s.Ramp, s.Size, s.Duration = []string{spec.ProbeRandom}, []string{disk.Read}, []int{4},
		16<<20, int64(6*time.Second)
	w, err := record.CreateProbe("", &record.Probe{Specification: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.Run(t.Context(), disk.Options{Writer: w, Progress: h}); err != nil {
		t.Fatal(err)
	}
	if h.still.Load() < 2 {
		t.Errorf("it told %d seconds while the device hung", h.still.Load())
	}
	if step := w.Probe.Steps[len(w.Probe.Steps)-1]; step.Latency == nil || time.Duration(step.Latency.Max) < time.Second {
		t.Errorf("the wait for the device is not in the times: %+v", step.Latency)
	}
	t.Logf("%d operations after it went on", h.after.Load())
}
