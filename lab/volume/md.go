package volume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// mdArray combines disks by the kernel's software RAID, through mdadm.
type mdArray struct {
	s    scheme
	t    tools
	name string
}

func (a *mdArray) device() string { return "/dev/md/" + a.name }

func (a *mdArray) format(ctx context.Context, devices []string) error {
	return a.t.runAll(ctx, [][]string{createMD(a.s, a.name, devices), makeFilesystem(a.s.filesystem, a.device())})
}

// createMD is the command that makes an array of new disks. They all read as zeros, so copies and parity need no first
// synchronization.
func createMD(s scheme, name string, devices []string) []string {
	level := s.mdLevel()
	c := []string{"mdadm", "--create", "/dev/md/" + name, "--run", "--quiet", "--metadata=1.2", "--homehost=any",
		"--name=" + name, "--level=" + strconv.Itoa(level), "--raid-devices=" + strconv.Itoa(len(devices))}
	if level == 10 {
		c = append(c, "--layout=n"+strconv.Itoa(s.copies))
	}
	if s.chunk > 0 {
		c = append(c, fmt.Sprintf("--chunk=%dK", s.chunk/kib))
	}
	if level != 0 {
		c = append(c, "--assume-clean", "--bitmap=internal")
	}
	return append(c, devices...)
}

func (a *mdArray) assemble(ctx context.Context, answering []string) error {
	_, err := a.t.run(ctx, append([]string{"mdadm", "--assemble", "--run", "--quiet", a.device()}, answering...)...)
	return err
}

func (a *mdArray) release(ctx context.Context) error {
	_, err := a.t.run(ctx, stopMD(a.name)...)
	return err
}

func stopMD(name string) []string { return []string{"mdadm", "--stop", "--quiet", "/dev/md/" + name} }

func (a *mdArray) top([]string) string { return a.device() }

func (a *mdArray) options([]string, bool) string { return filesystemOptions(a.s) }

// kernelName is the kernel's name of the array, such as md127.
func (a *mdArray) kernelName() string {
	if to, err := os.Readlink(a.device()); err == nil {
		return filepath.Base(to)
	}
	return filepath.Base(a.device())
}

func (a *mdArray) examine(_ context.Context, _ string) (examined, error) {
	text, err := os.ReadFile("/proc/mdstat")
	if err != nil {
		return examined{}, err
	}
	s, ok := parseMDStat(string(text))[a.kernelName()]
	if !ok {
		return examined{degraded: true, detail: "the kernel does not know the array " + a.device()}, nil
	}
	return s, nil
}

// parseMDStat reads /proc/mdstat: for each array a line with its disks, one with [wanted/working] [UU_], and one with
// the progress of a recovery.
func parseMDStat(text string) map[string]examined {
	all := map[string]examined{}
	var name string
	for line := range strings.Lines(text) {
		if before, after, ok := strings.Cut(line, " : "); ok && strings.HasPrefix(line, "md") {
			name = before
			all[name] = mdDisks(strings.Fields(after))
			continue
		}
		e, ok := all[name]
		if !ok {
			continue
		}
		for _, f := range strings.Fields(line) {
			if strings.HasPrefix(f, "[") && strings.Contains(f, "_") && strings.Trim(f, "[U_]") == "" {
				e.degraded = true
				e.detail = strings.TrimSpace(e.detail + " " + f)
			}
		}
		for _, word := range []string{"recovery", "resync", "reshape"} {
			if _, after, ok := strings.Cut(line, word+" = "); ok {
				e.rebuilding = true
				share, _, _ := strings.Cut(strings.TrimSpace(after), " ")
				e.detail = strings.TrimSpace(e.detail + " " + word + " " + share)
			}
		}
		all[name] = e
	}
	return all
}

// mdDisks reads "active raid1 loop1[1](F) loop0[0]".
func mdDisks(fields []string) examined {
	e := examined{errors: map[string]int64{}}
	for _, f := range fields {
		disk, rest, ok := strings.Cut(f, "[")
		if ok && strings.Contains(rest, "(F)") {
			e.degraded = true
			e.errors["/dev/"+disk]++
			e.detail = strings.TrimSpace(e.detail + " " + disk + " faulty")
		}
	}
	if len(fields) > 0 && fields[0] != "active" {
		e.degraded = true
		e.detail = strings.TrimSpace(fields[0] + " " + e.detail)
	}
	return e
}

func (a *mdArray) retired() bool { return false } // md does not use a failed disk until it is added again

// rejoin adds a disk that had failed. With the bitmap, md copies only the writes that the disk missed, otherwise the
// whole disk. A disk that md has not removed is left alone, because removing one more disk may be one too many.
func (a *mdArray) rejoin(ctx context.Context, device string) error {
	text, _ := os.ReadFile("/proc/mdstat")
	if mdWorks(string(text), a.kernelName(), device) {
		return nil
	}
	_, _ = a.t.run(ctx, "mdadm", "--manage", a.device(), "--remove", device) // md may have removed it already
	if _, err := a.t.run(ctx, "mdadm", "--manage", a.device(), "--re-add", device); err == nil {
		return a.wait(ctx)
	}
	if _, err := a.t.run(ctx, "mdadm", "--manage", a.device(), "--add", device); err != nil {
		return err
	}
	return a.wait(ctx)
}

// mdWorks says whether a device is a working member of an array, by /proc/mdstat.
func mdWorks(text, array, device string) bool {
	for line := range strings.Lines(text) {
		name, after, _ := strings.Cut(line, " : ")
		for _, f := range strings.Fields(after) {
			disk, rest, ok := strings.Cut(f, "[")
			if ok && name == array && "/dev/"+disk == device {
				return !strings.Contains(rest, "(")
			}
		}
	}
	return false
}

// wait returns when no rebuild runs. It ignores the exit code, which is 1 if no rebuild ran.
func (a *mdArray) wait(ctx context.Context) error {
	_, _ = a.t.run(ctx, "mdadm", "--wait", a.device())
	return ctx.Err()
}

func (a *mdArray) replace(ctx context.Context, _ string, _ int, old, new string) error {
	if a.s.tolerates() == 0 {
		return errNoCopy
	}
	_, _ = a.t.run(ctx, "mdadm", "--manage", a.device(), "--fail", old) // md may have noticed the failure itself
	_, _ = a.t.run(ctx, "mdadm", "--manage", a.device(), "--remove", old)
	if _, err := a.t.run(ctx, "mdadm", "--manage", a.device(), "--add", new); err != nil {
		return err
	}
	return a.wait(ctx)
}

func (a *mdArray) verify(ctx context.Context, _ string, _ bool) (verified, error) {
	if a.s.tolerates() == 0 {
		return verified{Note: "RAID 0 has no second copy to compare"}, nil
	}
	if _, err := a.t.run(ctx, "mdadm", "--action=repair", a.device()); err != nil {
		return verified{}, err
	}
	if err := a.wait(ctx); err != nil {
		return verified{}, err
	}
	text, _ := os.ReadFile(filepath.Join("/sys/block", a.kernelName(), "md/mismatch_cnt"))
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return verified{Note: "the copies were compared, but md does not report the result"}, nil
	}
	return verified{Note: figure.Plural(int(n), "differing sector") + " repaired"}, nil
}
