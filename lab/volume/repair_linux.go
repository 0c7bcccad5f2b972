package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// find returns a disk by its name. v.mu must be held.
func (v *blocks) find(name string) (*disk, error) {
	var names []string
	for _, d := range v.disks {
		if d.name == name {
			return d, nil
		}
		names = append(names, d.name)
	}
	return nil, fmt.Errorf("volume %s has no disk %s%s: it has %s", v.name, name, nearest.DidYouMean(name, names), strings.Join(names, ", "))
}

// FailDisk implements [Volume].
func (v *blocks) FailDisk(ctx context.Context, name string) error {
	return v.change(ctx, name, func(d *disk) { d.failed = true })
}

// HealDisk implements [Volume]. A disk that the array could not tell from a good one stays out until it is replaced.
func (v *blocks) HealDisk(ctx context.Context, name string) error {
	return v.change(ctx, name, func(d *disk) {
		d.failed = false
		d.retire(v.array)
	})
}

// retire keeps a disk out that would be read although it is old.
func (d *disk) retire(a array) { d.missing = d.missing || d.behind && a.retired() }

func (v *blocks) change(ctx context.Context, name string, how func(*disk)) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	d, err := v.find(name)
	if err != nil {
		return err
	}
	how(d)
	return v.settle(ctx, d)
}

// settle makes a disk answer or not, as it should. One that will not answer gets room first. v.mu must be held.
func (v *blocks) settle(ctx context.Context, d *disk) error {
	if !d.answers() && !d.shut {
		_ = v.widenDead(ctx, d) // a filesystem that gave up cannot, and is beyond repair then
	}
	return d.settle(ctx)
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
		all = errors.Join(all, v.settle(ctx, d))
	}
	return all
}

// health judges the volume by what is known of its disks, its filesystem and the backend. v.mu must be held.
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
	var says []string
	if len(gone) > 0 {
		says = append(says, strings.Join(gone, ", ")+": no answer, or not in the array")
	}
	if len(behind) > 0 {
		says = append(says, strings.Join(behind, ", ")+": may have missed writes, repair the volume")
	}
	if e.detail != "" {
		says = append(says, e.detail)
	}
	at, err := mountsAt(v.path)
	down := err == nil && (len(at) == 0 || at[len(at)-1].readOnly())
	ok, silent := v.listable()
	switch {
	case silent && !down:
		return "failed", strings.Join(append(says, fmt.Sprintf("the filesystem has not answered for %v: its disks hang, or the machine is very busy", lookLimit)), "; ")
	case down || !ok:
		return "failed", strings.Join(append(says, "the filesystem has given up: lab heal with --all lets its disks answer, mounts it again and starts its member"), "; ")
	case len(gone) > v.m.scheme.tolerates():
		health = "failed"
	case v.repairing || e.rebuilding:
		health = "repairing"
	case len(gone)+len(behind) > 0 || e.degraded || v.degraded:
		health = "degraded"
	default:
		health = "healthy"
	}
	return health, strings.Join(says, "; ")
}

// lookLimit is how long a look at a volume waits for its filesystem: one whose disks hang never answers, and on a busy
// machine a healthy one may take longer too. Nobody is ended for that alone: see [Answering].
const lookLimit = 3 * time.Second

// look is a question to a filesystem whose answer may never come.
type look struct {
	done chan struct{}
	ok   bool // after done
}

// listable says whether the filesystem can be read; silent is that it has not answered.
func (v *blocks) listable() (ok, silent bool) {
	l := v.question()
	select {
	case <-l.done:
		return l.ok, false
	case <-time.After(lookLimit):
		return false, true
	}
}

// question asks the filesystem whether it can be read. At most one question waits for an answer: who asks meanwhile gets that.
func (v *blocks) question() *look {
	v.asking.Lock()
	defer v.asking.Unlock()
	if v.looking != nil {
		return v.looking
	}
	l := &look{done: make(chan struct{})}
	v.looking = l
	go func() {
		l.ok = listable(v.path)
		v.asking.Lock()
		v.looking = nil
		v.asking.Unlock()
		close(l.done)
	}()
	return l
}

// Answers implements [Answering].
func (v *blocks) Answers(ctx context.Context) bool {
	l := v.question()
	select {
	case <-l.done:
		return l.ok
	case <-ctx.Done():
		return false
	}
}

// listable says whether a directory can be read: XFS that has shut down is still mounted.
func listable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return err == nil || err.Error() == "EOF"
}

// Repair implements [Volume].
func (v *blocks) Repair(ctx context.Context) (string, error) {
	v.repair.Lock()
	defer v.repair.Unlock()
	if v.closed {
		return "", fmt.Errorf("volume %s is gone", v.name)
	}
	v.setRepairing(true)
	defer v.setRepairing(false)
	did, err := v.mend(ctx)
	v.keepRoom()
	return strings.Join(did, "; "), err
}

// mend replaces the disks that do not answer, takes the others back and compares the copies. It returns what was done.
func (v *blocks) mend(ctx context.Context) (did []string, err error) {
	back, bad := v.sick()
	if err := v.reparable(len(bad)); err != nil {
		return nil, err
	}
	for _, i := range back {
		if err := v.array.rejoin(ctx, v.disks[i].device); err != nil {
			return nil, fmt.Errorf("cannot take disk %s back into volume %s: %w", v.disks[i].name, v.name, err)
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
		return did, fmt.Errorf("volume %s has lost data: %s cannot be corrected, because no copy of them is good", v.name, figure.Plural(int(counted.Uncorrectable), "error"))
	}
	v.well(back)
	return did, nil
}

// reparable refuses what the copies that are left cannot carry.
func (v *blocks) reparable(bad int) error {
	carries := v.m.scheme.tolerates()
	switch {
	case bad <= carries:
		return nil
	case carries == 0:
		return fmt.Errorf("cannot repair volume %s: %w", v.name, errNoCopy)
	}
	return fmt.Errorf("cannot repair volume %s: %s do not answer and it carries %d: heal some first", v.name, figure.Plural(bad, "disk"), carries)
}

func (v *blocks) setRepairing(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.repairing = on
}

// sick returns the places of the disks that answer again and of those that must be replaced.
func (v *blocks) sick() (back, bad []int) {
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

// well says that the disks that were behind have everything again, unless they failed once more in between.
func (v *blocks) well(back []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, i := range back {
		v.disks[i].behind = v.disks[i].shut
	}
	v.degraded = false
}

// replace rebuilds a disk on a new one, in the disk group of the same host or of another that has power.
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
	if err == nil && v.arrayEntry != 0 { // who removes the array later must see its new disk
		err = v.m.o.Journal.Note(v.arrayEntry, map[string]string{"devices": joinDevices(append(v.Devices(), fresh.device))})
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
	err = fresh.settle(ctx)
	v.mu.Unlock()
	text := fmt.Sprintf("%s replaced by a new disk on %s", old.name, host)
	return text, errors.Join(err, old.remove(ctx))
}

// rebuilds is how often a disk is rebuilt at most while the load takes the room that this needs.
const rebuilds = 4

// rebuild puts a new disk in the place of one that does not answer. What is written meanwhile can take the room that
// btrfs needs for it; then it gets more, and begins again.
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

// hostFor finds the disk group for a new disk: that of the old one, else one that has none of the volume's disks.
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
		second = orElse(second, host)
	}
	if second == "" {
		return "", errors.New("no host with power has room for a new disk: power one on")
	}
	return second, nil
}
