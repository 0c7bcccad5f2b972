package volume

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// lvmArray combines disks by a logical volume. The name of its group has the names of the lab and the volume.
type lvmArray struct {
	s       scheme
	t       tools
	group   string
	devices []string // of the group, present and former
}

const logical = "data" // the name of the logical volume in each group

func (a *lvmArray) path() string { return a.group + "/" + logical }

// config makes LVM see only the disks of the volume, and keep no copies of its metadata in /etc.
func config(devices []string) string {
	var accept strings.Builder
	for _, d := range devices {
		fmt.Fprintf(&accept, `"a|^%s$|",`, d)
	}
	filter := `[` + accept.String() + `"r|.*|"]`
	return "devices { use_devicesfile=0 filter=" + filter + " global_filter=" + filter + " } backup { backup=0 archive=0 }"
}

func (a *lvmArray) lvm(name string, args ...string) []string {
	return append([]string{name, "--config", config(a.devices)}, args...)
}

func (a *lvmArray) run(ctx context.Context, name string, args ...string) (string, error) {
	return a.t.run(ctx, a.lvm(name, args...)...)
}

func (a *lvmArray) format(ctx context.Context, devices []string) error {
	a.devices = slices.Clone(devices)
	return a.t.runAll(ctx, [][]string{
		a.lvm("pvcreate", append([]string{"--yes", "--quiet"}, devices...)...),
		a.lvm("vgcreate", append([]string{"--yes", "--quiet", a.group}, devices...)...),
		a.lvm("lvcreate", createLVM(a.s, a.group)...),
		makeFilesystem(a.s.filesystem, a.top(nil)),
	})
}

// createLVM has the arguments that make the logical volume on the whole group. New disks read as zeros, so mirrors need
// no first synchronization. LVM computes parity itself.
func createLVM(s scheme, group string) []string {
	c := []string{"--yes", "--quiet", "--wipesignatures", "n", "--type", s.lvmType()}
	if s.data > 1 {
		c = append(c, "--stripes", strconv.Itoa(s.data), "--stripesize", fmt.Sprintf("%dk", s.chunk/kib))
	}
	if s.copies > 1 {
		c = append(c, "--mirrors", strconv.Itoa(s.copies-1), "--nosync")
	}
	return append(c, "--extents", "100%FREE", "--name", logical, group)
}

func (a *lvmArray) assemble(ctx context.Context, _ []string) error {
	_, err := a.run(ctx, "vgchange", "--quiet", "--activationmode", "degraded", "--activate", "y", a.group)
	return err
}

func (a *lvmArray) release(ctx context.Context) error {
	_, err := a.run(ctx, "vgchange", "--quiet", "--activate", "n", a.group)
	return err
}

func (a *lvmArray) top([]string) string { return "/dev/" + a.path() }

func (a *lvmArray) options([]string, bool) string { return filesystemOptions(a.s) }

func (a *lvmArray) examine(ctx context.Context, _ string) (examined, error) {
	out, err := a.run(ctx, "lvs", "--noheadings", "--separator", ";",
		"--options", "lv_health_status,copy_percent,raid_sync_action,raid_mismatch_count", a.path())
	if err != nil {
		return examined{}, err
	}
	return parseLVS(out), nil
}

// parseLVS reads "partial;100.00;idle;0". Lines before it may have warnings of LVM.
func parseLVS(text string) examined {
	var e examined
	for _, line := range lines(text) {
		fields := strings.Split(line, ";")
		if len(fields) != 4 {
			continue
		}
		health, percent := strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1])
		action := strings.TrimSpace(fields[2])
		e.degraded = health != ""
		e.rebuilding = action == "recover" || action == "resync" || percent != "" && percent != "100.00"
		e.detail = health
		if e.rebuilding {
			e.detail = strings.TrimSpace(fmt.Sprintf("%s %s %s%%", e.detail, action, percent))
		}
	}
	return e
}

func (a *lvmArray) retired() bool { return false }

// rejoin makes the kernel use a device again that had failed.
func (a *lvmArray) rejoin(ctx context.Context, _ string) error {
	_, err := a.run(ctx, "lvchange", "--quiet", "--refresh", a.path())
	return err
}

func (a *lvmArray) replace(ctx context.Context, _ string, _ int, old, new string) error {
	if a.s.tolerates() == 0 {
		return errNoCopy
	}
	a.devices = append(a.devices, new)
	if err := a.t.runAll(ctx, [][]string{
		a.lvm("pvcreate", "--yes", "--quiet", new),
		a.lvm("vgextend", "--yes", "--quiet", a.group, new),
		a.lvm("lvconvert", "--yes", "--quiet", "--repair", a.path(), new),
	}); err != nil {
		return err
	}
	a.devices = slices.DeleteFunc(a.devices, func(d string) bool { return d == old })
	_, err := a.run(ctx, "vgreduce", "--quiet", "--removemissing", a.group)
	return err
}

func (a *lvmArray) verify(ctx context.Context, _ string, _ bool) (verified, error) {
	if a.s.tolerates() == 0 {
		return verified{Note: "a striped volume has no second copy to compare"}, nil
	}
	if _, err := a.run(ctx, "lvchange", "--quiet", "--syncaction", "repair", a.path()); err != nil {
		return verified{}, err
	}
	for {
		out, err := a.run(ctx, "lvs", "--noheadings", "--separator", ";",
			"--options", "raid_sync_action,raid_mismatch_count", a.path())
		if err != nil {
			return verified{}, err
		}
		all := append([]string{""}, lines(out)...)
		if action, count, ok := strings.Cut(all[len(all)-1], ";"); ok && action == "idle" {
			n, _ := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			return verified{Note: figure.Plural(int(n), "differing sector") + " repaired"}, nil
		}
		if err := pause(ctx); err != nil {
			return verified{}, err
		}
	}
}

// removeLVM is the command that removes a group with its volumes.
func removeLVM(group string, devices []string) []string {
	return []string{"vgremove", "--config", config(devices), "--yes", "--quiet", "--force", group}
}
