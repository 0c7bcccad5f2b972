package volume

import (
	"context"
	"os"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

func blockRemovers() map[string]journal.Remover {
	return map[string]journal.Remover{kindLoop: removeLoop, kindMount: removeMount, kindMD: removeMD,
		kindLVM: removeLVMGroup, kindServer: removeServer, kindFaultfs: removeFaultfs}
}

func removeMount(ctx context.Context, r journal.Resource) error {
	return unmount(ctx, r.Name, func(m mountinfo.Mount) error { return ourMount(m, r.Details["below"], r.Details["top"]) })
}

// removeLoop detaches the loop devices of a file. It unmounts their volume first, because the journal removes a disk
// that replaced another one before it removes the mount.
func removeLoop(ctx context.Context, r journal.Resource) error {
	b := backing{path: r.Name, id: r.Details["file"], mark: r.Details["mark"]}
	devices, err := loopsOf(b)
	if err != nil || len(devices) == 0 {
		return err
	}
	if mount := r.Details["mount"]; mount != "" {
		if err := removeMount(ctx, journal.Resource{Name: mount, Details: r.Details}); err != nil {
			return err
		}
	}
	for _, device := range devices {
		if r.Details["served"] != "" {
			continue // its device is never limited, and its server may have ended
		}
		if err := limitLoop(device, b, 0); err != nil {
			return err
		}
	}
	return detachLoop(ctx, b)
}

func removeMD(ctx context.Context, r journal.Resource) error {
	if _, err := os.Lstat("/dev/md/" + r.Name); err != nil {
		return nil // it was not made, or was stopped already
	}
	_, err := tools{r.Details["tools"]}.run(ctx, stopMD(r.Name)...)
	return err
}

func removeLVMGroup(ctx context.Context, r journal.Resource) error {
	t, devices := tools{r.Details["tools"]}, strings.Fields(r.Details["devices"])
	out, err := t.run(ctx, "vgs", "--config", config(devices), "--noheadings", "--options", "vg_name")
	if err != nil {
		return err
	}
	for _, name := range lines(out) {
		if name == r.Name {
			_, err := t.run(ctx, removeLVM(r.Name, devices)...)
			return err
		}
	}
	return nil
}
