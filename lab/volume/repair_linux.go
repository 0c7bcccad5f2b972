package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// find returns a disk by its name. The caller holds v.mu.
func (v *blocks) find(name string) (*disk, error) {
	var names []string
	for _, d := range v.disks {
		if d.name == name {
			return d, nil
		}
		names = append(names, d.name)
	}
	return nil, fmt.Errorf("volume %s has no disk %s%s (disks: %s)", v.name, name, nearest.DidYouMean(name, names),
		strings.Join(names, ", "))
}

func (v *blocks) FailDisk(ctx context.Context, name string) error {
	return v.change(ctx, name, func(d *disk) { d.failed = true })
}

// If the array cannot tell old data of the disk from new, it does not use the disk until it is replaced.
func (v *blocks) HealDisk(ctx context.Context, name string) error {
	return v.change(ctx, name, func(d *disk) {
		d.failed = false
		d.retire(v.array)
	})
}

// retire marks a disk as missing if the array would read its old data.
func (d *disk) retire(a array) { d.missing = d.missing || d.behind && a.retired() }

func (v *blocks) change(ctx context.Context, name string, do func(*disk)) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	d, err := v.find(name)
	if err != nil {
		return err
	}
	do(d)
	return v.apply(ctx, d)
}

// apply makes a disk answer or fail, as its state says. A disk that fails gets room first. The caller holds v.mu.
func (v *blocks) apply(ctx context.Context, d *disk) error {
	if !d.answers() && !d.shut {
		_ = v.widenDead(ctx, d) // it fails for a failed filesystem, which cannot be repaired anyway
	}
	return d.apply(ctx)
}

func (v *blocks) power(ctx context.Context, host string, on bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all error
	for _, d := range v.disks {
		if d.host != host {
			continue
		}
		if d.off = !on; on {
			d.retire(v.array)
		}
		all = errors.Join(all, v.apply(ctx, d))
	}
	return all
}

// health is the health of the volume by the states of its disks, its filesystem and the array. The caller holds v.mu.
func (v *blocks) health(e examined) (health, detail string) {
	var gone, behind []string
	for _, d := range v.disks {
		switch {
		case !d.answers() || d.rebuilding:
			gone = append(gone, d.name)
		case d.behind:
			behind = append(behind, d.name)
		}
	}
	var details []string
	if len(gone) > 0 {
		details = append(details, strings.Join(gone, ", ")+": failed, or not in the array")
	}
	if len(behind) > 0 {
		details = append(details, strings.Join(behind, ", ")+": may have missed writes; repair the volume")
	}
	if e.detail != "" {
		details = append(details, e.detail)
	}
	at, err := mountsAt(v.path)
	down := err == nil && (len(at) == 0 || readOnly(at[len(at)-1]))
	ok, silent := v.listable()
	switch {
	case silent && !down:
		return "failed", strings.Join(append(details, fmt.Sprintf("the filesystem has not answered for %v, because its disks "+
			"hang or the machine is very busy", probeLimit)), "; ")
	case down || !ok:
		return "failed", strings.Join(append(details, "the filesystem has failed; lab revert --all reverts the faults of its disks, "+
			"remounts it and restarts its member"), "; ")
	case len(gone) > v.m.scheme.tolerates():
		health = "failed"
	case v.repairing || e.rebuilding:
		health = "repairing"
	case len(gone)+len(behind) > 0 || e.degraded || v.degraded:
		health = "degraded"
	default:
		health = "healthy"
	}
	return health, strings.Join(details, "; ")
}

// probeLimit is how long Describe waits for a filesystem. One on hanging disks never answers, and a healthy one may
// take longer on a busy machine, so a silent filesystem alone is no reason to kill its member: see [Answering].
const probeLimit = 3 * time.Second

// probe is a read of a filesystem, which may never return.
type probe struct {
	done chan struct{}
	ok   bool // valid when done is closed
}

// listable says whether the filesystem is readable. silent says that it has not answered.
func (v *blocks) listable() (ok, silent bool) {
	p := v.startProbe()
	select {
	case <-p.done:
		return p.ok, false
	case <-time.After(probeLimit):
		return false, true
	}
}

// startProbe starts to read the filesystem. If a read is under way already, it returns that one.
func (v *blocks) startProbe() *probe {
	v.probing.Lock()
	defer v.probing.Unlock()
	if v.probe != nil {
		return v.probe
	}
	p := &probe{done: make(chan struct{})}
	v.probe = p
	go func() {
		p.ok = listable(v.path)
		v.probing.Lock()
		v.probe = nil
		v.probing.Unlock()
		close(p.done)
	}()
	return p
}

var _ Answering = (*blocks)(nil)

func (v *blocks) Answers(ctx context.Context) bool {
	p := v.startProbe()
	select {
	case <-p.done:
		return p.ok
	case <-ctx.Done():
		return false
	}
}

// listable says whether a directory is readable. An XFS that has shut down is still mounted.
func listable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return err == nil || errors.Is(err, io.EOF)
}

func (v *blocks) Repair(ctx context.Context) (string, error) {
	v.repair.Lock()
	defer v.repair.Unlock()
	if v.closed {
		return "", fmt.Errorf("volume %s is closed", v.name)
	}
	v.setRepairing(true)
	defer v.setRepairing(false)
	did, err := v.repairDisks(ctx)
	v.restoreBallast()
	return strings.Join(did, "; "), err
}

// repairDisks replaces failed disks, adds disks that answer again, and compares the copies. It returns texts about the
// steps.
func (v *blocks) repairDisks(ctx context.Context) (did []string, err error) {
	back, bad := v.unhealthy()
	if err := v.checkRepairable(len(bad)); err != nil {
		return nil, err
	}
	for _, i := range back {
		if err := v.array.rejoin(ctx, v.disks[i].device); err != nil {
			return nil, fmt.Errorf("cannot add disk %s to volume %s again: %w", v.disks[i].name, v.name, err)
		}
	}
	if err := v.makeRoom(ctx); err != nil {
		return nil, fmt.Errorf("cannot repair volume %s: %w", v.name, err)
	}
	for _, i := range bad {
		text, err := v.replace(ctx, i)
		if err != nil {
			return did, fmt.Errorf("cannot replace disk %s of volume %s: %w", v.disks[i].name, v.name, err)
		}
		did = append(did, text)
	}
	counted, err := v.array.verify(ctx, v.path, v.degraded)
	if err != nil {
		return did, fmt.Errorf("cannot compare the copies of volume %s: %w", v.name, err)
	}
	did = append(did, counted.String())
	if counted.Uncorrectable > 0 {
		return did, fmt.Errorf("volume %s has lost data: %s cannot be corrected, because no copy is correct", v.name,
			figure.Plural(int(counted.Uncorrectable), "error"))
	}
	v.markRepaired(back)
	return did, nil
}

// checkRepairable returns an error if more disks have failed than the policy tolerates.
func (v *blocks) checkRepairable(failed int) error {
	tolerated := v.m.scheme.tolerates()
	switch {
	case failed <= tolerated:
		return nil
	case tolerated == 0:
		return fmt.Errorf("cannot repair volume %s: %w", v.name, errNoCopy)
	}
	return fmt.Errorf("cannot repair volume %s: %s do not answer, but it tolerates only %d. Revert some of their faults first",
		v.name, figure.Plural(failed, "disk"), tolerated)
}

func (v *blocks) setRepairing(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.repairing = on
}

// unhealthy returns the indices of the disks that answer again and of those that must be replaced.
func (v *blocks) unhealthy() (back, bad []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, d := range v.disks {
		switch {
		case !d.answers():
			bad = append(bad, i)
		case d.behind:
			back = append(back, i)
		}
	}
	return back, bad
}

// markRepaired notes that disks are not behind any more, unless they failed again meanwhile.
func (v *blocks) markRepaired(back []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, i := range back {
		v.disks[i].behind = v.disks[i].shut
	}
	v.degraded = false
}

// replace rebuilds a disk on a new one, in the disk group of the same host, or of another one with power.
func (v *blocks) replace(ctx context.Context, i int) (string, error) {
	v.mu.Lock()
	old := v.disks[i]
	old.rebuilding = true
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		old.rebuilding = false
		v.mu.Unlock()
	}()
	host, err := v.hostFor(old)
	if err != nil {
		return "", err
	}
	fresh, err := v.newDisk(ctx, old.name, host)
	if err == nil && v.arrayEntry != 0 { // the remover of the array needs the new disk
		err = v.m.o.Journal.Note(v.arrayEntry,
			map[string]string{"devices": joinDevices(append(v.Devices(), fresh.device))})
	}
	if err == nil {
		err = v.rebuild(ctx, i, old.device, fresh.device)
	}
	if err != nil {
		return "", errors.Join(err, fresh.remove(context.WithoutCancel(ctx)))
	}
	v.mu.Lock()
	v.disks[i] = fresh
	fresh.off = v.m.isOff(host) // its host may have lost power meanwhile
	err = fresh.apply(ctx)
	v.mu.Unlock()
	text := fmt.Sprintf("%s replaced by a new disk on %s", old.name, host)
	return text, errors.Join(err, old.remove(ctx))
}

// rebuilds is how often a rebuild is tried at most.
const rebuilds = 4

// rebuild replaces a failed disk by a new one. If writes of the load use up the space that btrfs needs for the rebuild,
// it makes more space and tries again.
func (v *blocks) rebuild(ctx context.Context, i int, old, fresh string) error {
	for try := 1; ; try++ {
		err := v.array.replace(ctx, v.path, i, old, fresh)
		full := err != nil && strings.Contains(strings.ToLower(err.Error()), unix.ENOSPC.Error())
		if !full || try == rebuilds || ctx.Err() != nil {
			return err
		}
		if e := v.makeRoom(ctx); e != nil {
			return errors.Join(err, e)
		}
	}
}

// hostFor chooses the disk group of a new disk: that of the old one, or else one without disks of the volume.
func (v *blocks) hostFor(old *disk) (string, error) {
	if !v.m.isOff(old.host) {
		return old.host, nil
	}
	v.mu.Lock()
	used := map[string]bool{}
	for _, d := range v.disks {
		used[d.host] = used[d.host] || d != old
	}
	v.mu.Unlock()
	second := ""
	for _, host := range v.hosts {
		if v.m.isOff(host) {
			continue
		}
		if !used[host] {
			return host, nil
		}
		second = cmp.Or(second, host)
	}
	if second == "" {
		return "", errors.New("no host for a new disk has power. Power on a host")
	}
	return second, nil
}
