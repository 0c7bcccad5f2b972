package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/faultcut"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/pattern"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// diskFamily gives storage that lies to complete probes: memory below filesystems, caches, a filesystem that swallows
// syncs or changes data, a disk that ignores flushes, and power cuts that cut nothing.
func diskFamily() family {
	d := &disks{}
	f := family{name: "disk", verdict: diskVerdict, parallel: 8, start: d.start, about: d.about,
		notFound: []string{
			"A disk, its controller or a hypervisor that ignores flushes: grade A covers the layers above them.",
			"A disk that ignores a part of the flushes, in a power cut: only the last flush before the cut matters.",
			"A cache inside the disk or the hypervisor that answers reads.",
			"A cache above a disk of which other programs read or write as much as the probe at the same time.",
			"Memory below what cannot be seen (a FUSE or network filesystem, a mount of another container): the verdict is " +
				"`not-provable-here`.",
		}}
	lie := func(name, what string, try func(context.Context, *trial) (answer, error)) {
		f.rows = append(f.rows, row{name: name, lie: what, goal: everyOne, small: 2, full: 200, try: try})
	}
	lie("memory-loop", "a loop device with its file on tmpfs", d.memoryLoop)
	lie("memory-overlay", "an overlay with its upper directory on tmpfs, itself or below a loop device", d.memoryOverlay)
	lie("memory-zram", "a filesystem on zram", d.memoryZram)
	lie("cached-reads", "a loop device without direct I/O that answers reads with O_DIRECT from the page cache", d.cachedReads)
	lie("no-barriers", "a filesystem mounted without barriers, at the top or below a loop device", d.noBarriers)
	lie("swallows-syncs", "a filesystem that acknowledges 10 % to all of the syncs without a flush", d.through(fsSwallow, 0.1, 1))
	f.rows = append(f.rows, row{name: "swallows-few-syncs", lie: "the same with 1 % of the syncs", goal: unclaimed, small: 1, full: 50,
		try:      d.through(fsSwallow, 0.01, 0.01),
		notFound: "a swallowed sync is seen if it is one of the 100 that the probe counts"})
	f.rows = append(f.rows, row{name: "syncs-late", lie: "a filesystem that acknowledges each sync before its flush", goal: unclaimed,
		small: 1, full: 50, try: d.through(fsLate, 1, 1),
		notFound: "late flushes look like those of other programs, and then the verdict is `not-provable-here`"})
	lie("loses-writes", "a disk that drops writes, so that reads return the old block", d.through(fsStale, 0.3, 1))
	lie("tears-writes", "a disk that stores only the first sectors of writes", d.through(fsTorn, 0.3, 1))
	lie("misplaces-writes", "a disk that stores writes at another place", d.through(fsMisplaced, 0.3, 1))
	lie("flips-bytes", "a disk that changes a byte of blocks", d.through(fsFlipped, 0.3, 1))
	lie("ignores-flushes", "a disk that ignores flushes and loses its cache in a power cut, or a random part of the cache", d.powerCut(true))
	lie("cut-nothing", "a power cut that cuts nothing", d.cutNothing(false))
	lie("cut-remount", "a power cut after which all caches survive, because it only mounts the filesystem again", d.cutNothing(true))
	lie("compresses", "storage that compresses with zstd and a window of 16 MiB or in pages of 32 KiB, or that removes equal blocks",
		compresses)
	honest := func(name, what string, full int, try func(context.Context, *trial) (answer, error)) {
		f.rows = append(f.rows, row{name: name, honest: what, goal: none, small: 2, full: full, try: try})
	}
	honest("disk", "ext4 on a loop device with direct I/O, with a neighbour that writes and syncs in half of the trials", 400, d.honestDisk(""))
	honest("overlay", "an overlay on it", 200, d.honestDisk("overlay"))
	honest("compressing", "btrfs that compresses with zstd", 200, d.honestDisk("btrfs"))
	honest("passes-syncs", "a FUSE filesystem that passes everything on", 100, d.through(fsPasses, 0, 0))
	honest("power-cut", "a disk that flushes and loses its cache in a power cut, or a random part of it", 100, d.powerCut(false))
	return f
}

// disks makes filesystems for trials. Everything is below the directory of the campaign, which the next campaign
// cleans if this one is killed.
type disks struct {
	dir    string
	client *faultfs.Client
	socket string
	count  int
	mu     sync.Mutex
	zram   sync.Mutex

	once          sync.Once // the filesystems that trials share
	err           error
	plain, packed string // directories: ext4 and btrfs
	end           []func() error
}

func (d *disks) about() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return "Linux " + unix.ByteSliceToString(u.Release[:])
}

// start looks at what this machine allows. Trials without root say that they did not run.
func (d *disks) start(_ context.Context, c config) (stop func() error, err error) {
	d.dir = c.scratch
	return d.stop, nil
}

func (d *disks) stop() error {
	var errs []error
	for _, end := range slices.Backward(d.end) {
		errs = append(errs, end())
	}
	unmount(d.dir)
	return errors.Join(errs...)
}

// need returns an error if filesystems cannot be made here.
func need() error {
	if os.Getuid() != 0 {
		return notHere("filesystems on loop devices need root")
	}
	if s, err := device.Here().Storage(os.TempDir()); err != nil || len(s.Memory) > 0 {
		return notHere("temporary files are in memory (TMPDIR)")
	}
	for _, name := range []string{"losetup", "mkfs.ext4", "mkfs.btrfs"} {
		if _, err := exec.LookPath(name); err != nil {
			return notHere(name + " is not installed")
		}
	}
	return nil
}

// shared makes the filesystems that trials share.
func (d *disks) shared() error {
	if err := need(); err != nil {
		return err
	}
	d.once.Do(func() {
		if d.plain, d.err = d.loop(d.dir, "ext4", 256, "", true); d.err == nil {
			d.packed, d.err = d.loop(d.dir, "btrfs", 400, "compress=zstd", true)
		}
	})
	return d.err
}

// loop makes a filesystem on a loop device with a file of some MiB in a directory, and returns its mount.
func (d *disks) loop(dir, kind string, mib int, options string, direct bool) (string, error) {
	image, err := os.CreateTemp(dir, "image")
	if err != nil {
		return "", err
	}
	err = errors.Join(image.Truncate(int64(mib)<<20), image.Close())
	if err != nil {
		return "", err
	}
	return d.attach(image.Name(), kind, options, direct)
}

// attach makes a filesystem on a loop device with a file.
func (d *disks) attach(image, kind, options string, direct bool) (string, error) {
	loop, err := output("losetup", "--find", "--show", fmt.Sprintf("--direct-io=%s", map[bool]string{true: "on", false: "off"}[direct]), image)
	if err != nil {
		return "", err
	}
	format := []string{"-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop}
	if kind == "btrfs" {
		format = []string{"-q", "-f", loop}
	}
	if _, err := output("mkfs."+kind, format...); err != nil {
		return "", err
	}
	return d.mount(loop, kind, options)
}

func (d *disks) mount(source, kind, options string) (string, error) {
	at, err := os.MkdirTemp(d.dir, "mount")
	if err != nil {
		return "", err
	}
	return at, unix.Mount(source, at, kind, 0, options)
}

// memory mounts a tmpfs.
func (d *disks) memory() (string, error) { return d.mount("plimsoll-liars", "tmpfs", "size=200m") }

// overlay mounts an overlay that writes to a directory.
func (d *disks) overlay(dir string) (string, error) {
	base, err := os.MkdirTemp(dir, "overlay")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			return "", err
		}
	}
	return d.mount("overlay", "overlay", fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", base))
}

// trialDirectory makes a directory of its own for a trial.
func trialDirectory(dir string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, "trial")
}

// probeDisk runs a short probe and returns what it says, and the error with which it ended.
func probeDisk(ctx context.Context, t *trial, dir string, change func(*record.ProbeSpec),
	cutter disk.PowerCutter) (*record.Probe, error) {
	s := disk.Defaults(dir)
	s.Profiles, s.Clients, s.Segment, s.Duration, s.Size = []string{spec.ProbeJournal}, []int{1 + t.rand.IntN(3)}, 1<<20,
		int64(50*time.Millisecond), 1<<20
	s.Record = 128 * (1 + t.rand.Int64N(8))
	if change != nil {
		change(&s)
	}
	w, err := record.CreateProbe("", &record.Probe{Specification: s,
		Head: record.Head{Environment: record.NewEnvironment(nil)}})
	if err != nil {
		return nil, err
	}
	err = disk.Run(ctx, disk.Options{Writer: w, Progress: silent{}, Cutter: cutter})
	for _, g := range w.Probe.Durability {
		t.say("%s %s: %s", g.Grade, g.Verdict, g.Text)
	}
	for _, f := range w.Probe.Validity {
		t.say("%s: %s", f.ID, f.Text)
	}
	return w.Probe, err
}

type silent struct{}

func (silent) Step(string)               {}
func (silent) Second(record.ProbeSecond) {}
func (silent) Note(string)               {}

// judged returns what a probe said of storage.
func judged(p *record.Probe, err error) (answer, error) {
	var refused *files.RefusedError
	switch {
	case errors.As(err, &refused):
		return accused, nil
	case p != nil && (p.Verdict == record.Lying || p.Verdict == record.Suspicious),
		p != nil && measure.Worst(p.Validity) == measure.Invalid:
		return accused, nil
	case err != nil:
		return undecided, err
	case p.Verdict == record.Honest:
		return cleared, nil
	}
	return undecided, nil
}

func (d *disks) memoryLoop(ctx context.Context, t *trial) (answer, error) {
	if err := need(); err != nil {
		return 0, err
	}
	dir, err := d.memory()
	if err != nil {
		return 0, err
	}
	defer unmount(dir)
	at, err := d.loop(dir, "ext4", 64, "", t.rand.IntN(2) == 0)
	if err != nil {
		return 0, err
	}
	defer unmount(at)
	return judged(probeDisk(ctx, t, at, nil, nil))
}

func (d *disks) memoryOverlay(ctx context.Context, t *trial) (answer, error) {
	if err := need(); err != nil {
		return 0, err
	}
	dir, err := d.memory()
	if err != nil {
		return 0, err
	}
	defer unmount(dir)
	at, err := d.overlay(dir)
	if err != nil {
		return 0, err
	}
	defer unmount(at)
	if t.rand.IntN(2) == 0 {
		if at, err = d.loop(at, "ext4", 64, "", true); err != nil {
			return 0, err
		}
		defer unmount(at)
	}
	return judged(probeDisk(ctx, t, at, nil, nil))
}

func (d *disks) memoryZram(ctx context.Context, t *trial) (answer, error) {
	if err := need(); err != nil {
		return 0, err
	}
	d.zram.Lock() // a new device gets the number of the one that was removed last
	defer d.zram.Unlock()
	number, err := os.ReadFile("/sys/class/zram-control/hot_add")
	if err != nil {
		return 0, notHere("the kernel has no zram")
	}
	device := "zram" + string(number[:len(number)-1])
	defer removeZram(device)
	if err := os.WriteFile("/sys/block/"+device+"/disksize", []byte("64M"), 0o200); err != nil {
		return 0, err
	}
	if _, err := output("mkfs.ext4", "-q", "-F", "/dev/"+device); err != nil {
		return 0, err
	}
	at, err := d.mount("/dev/"+device, "ext4", "")
	if err != nil {
		return 0, err
	}
	defer unmount(at)
	return judged(probeDisk(ctx, t, at, nil, nil))
}

// direct changes a probe to reads with O_DIRECT.
func direct(t *trial) func(*record.ProbeSpec) {
	return func(s *record.ProbeSpec) {
		s.Profiles, s.Operations, s.Ramp = []string{spec.ProbeRandom}, []string{disk.Read}, []int{1 + t.rand.IntN(3)}
		s.Size, s.Block = 4<<20, 4096<<t.rand.IntN(3)
	}
}

func (d *disks) cachedReads(ctx context.Context, t *trial) (answer, error) {
	if err := need(); err != nil {
		return 0, err
	}
	at, err := d.loop(d.dir, "ext4", 64, "", false)
	if err != nil {
		return 0, err
	}
	defer unmount(at)
	p, err := probeDisk(ctx, t, at, direct(t), nil)
	if err == nil && !slices.ContainsFunc(p.Steps, func(s record.ProbeStep) bool { return s.Operations > 0 }) {
		return notPlanted, nil // the machine was so busy that nothing was read
	}
	return judged(p, err)
}

func (d *disks) noBarriers(ctx context.Context, t *trial) (answer, error) {
	if err := need(); err != nil {
		return 0, err
	}
	at, err := d.loop(d.dir, "ext4", 128, "barrier=0", true)
	if err != nil {
		return 0, err
	}
	defer unmount(at)
	if t.rand.IntN(2) == 0 {
		if at, err = d.loop(at, "ext4", 64, "", true); err != nil {
			return 0, err
		}
		defer unmount(at)
	}
	return judged(probeDisk(ctx, t, at, nil, nil))
}

// honestDisk probes storage without a lie: "" is the shared ext4.
func (d *disks) honestDisk(kind string) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		if err := d.shared(); err != nil {
			return 0, err
		}
		base := d.plain
		if kind == "btrfs" {
			base = d.packed
		}
		dir, err := trialDirectory(base, nil)
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		if kind == "overlay" {
			if dir, err = d.overlay(dir); err != nil {
				return 0, err
			}
			defer unmount(dir)
		}
		if t.rand.IntN(2) == 0 {
			defer neighbour(d.dir, t)()
		}
		change := direct(t)
		if t.rand.IntN(2) == 0 {
			change = nil
		}
		return judged(probeDisk(ctx, t, dir, change, nil))
	}
}

// neighbour is another program that writes and syncs on the same disk until it is stopped.
func neighbour(dir string, t *trial) (stop func()) {
	pause := time.Duration(1+t.rand.IntN(20)) * time.Millisecond
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.CreateTemp(dir, "neighbour")
		if err != nil {
			return
		}
		defer os.Remove(f.Name())
		defer f.Close()
		for b := make([]byte, 8192); ; {
			select {
			case <-over:
				return
			case <-time.After(pause):
			}
			if _, err := f.WriteAt(b, 0); err != nil || f.Sync() != nil {
				return
			}
		}
	}()
	return func() { close(over); <-done }
}

// compresses gives the data of a probe to compressors and looks for equal blocks. The lie is found if neither gains
// anything, because then such storage is measured as it is.
func compresses(_ context.Context, t *trial) (answer, error) {
	block := 512 << t.rand.IntN(8)
	pool := pattern.NewPool(t.rand.Uint64(), int64(block))
	data := make([]byte, 17<<20)
	same := t.rand.IntN(2) == 0 // one place again and again, or a whole file
	for at := 0; at+block <= len(data); at += block {
		offset := int64(at)
		if same {
			offset = 0
		}
		pool.Fill(data[at:at+block], offset, uint64(at/block+1))
	}
	data = data[:len(data)/block*block]
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(16<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	long := len(z.EncodeAll(data, nil))
	pages, equal, seen := 0, 0, map[string]bool{}
	for at := 0; at < len(data); at += 32 << 10 {
		pages += len(snappy.Encode(nil, data[at:min(at+32<<10, len(data))]))
	}
	for at := 0; at+512 <= len(data); at += 512 {
		if name := string(data[at : at+512]); seen[name] {
			equal++
		} else {
			seen[name] = true
		}
	}
	t.say("blocks of %d: zstd %d of %d B, snappy %d B, %d equal sectors", block, long, len(data), pages, equal)
	if float64(min(long, pages)) < 0.998*float64(len(data)) || equal > 0 {
		return cleared, nil
	}
	return accused, nil
}

// pretending is a power cut that cuts nothing; again mounts the filesystem again.
type pretending struct{ again func() error }

func (p pretending) Cut(context.Context, string) (int64, error) { return 0, nil }
func (p pretending) Return(context.Context, string) error       { return p.again() }
func (pretending) Covers() string                               { return "nothing" }
func (pretending) Blind() string                                { return "everything" }

func (d *disks) cutNothing(remount bool) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		if err := need(); err != nil {
			return 0, err
		}
		at, err := d.loop(d.dir, "ext4", 64, "", true)
		if err != nil {
			return 0, err
		}
		defer unmount(at)
		p, err := probeDisk(ctx, t, at, nil, pretending{func() error {
			if !remount {
				return nil
			}
			device, err := output("findmnt", "-n", "-o", "SOURCE", at)
			return errors.Join(err, unix.Unmount(at, 0), unix.Mount(device, at, "ext4", 0, ""))
		}})
		return cutAnswer(p, err)
	}
}

// cutAnswer returns what grade C said. That it proved nothing is the right answer to a cut that lost nothing.
func cutAnswer(p *record.Probe, err error) (answer, error) {
	if err != nil {
		return 0, err
	}
	for _, g := range p.Durability {
		if g.Grade == "C" {
			if g.Verdict == record.Honest {
				return cleared, nil
			}
			return accused, nil
		}
	}
	return undecided, nil
}

// cutting is a power cut of a faultfs disk in which a random part of what was not flushed survives.
type cutting struct {
	*faultcut.Cutter
	client *faultfs.Client
	disk   string
	cut    faultfs.PowerCut
}

func (c *cutting) Cut(ctx context.Context, dir string) (int64, error) {
	if err := c.Check(ctx, dir); err != nil { // it also finds the disk for Return
		return 0, err
	}
	if err := c.client.Cut(ctx, c.disk, c.cut); err != nil {
		return 0, err
	}
	s, err := c.client.Stats(ctx, c.disk)
	return s.Undone, err
}

func (d *disks) powerCut(lie bool) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		if err := errors.Join(need(), d.serve(ctx)); err != nil {
			return 0, err
		}
		d.mu.Lock()
		d.count++
		name := fmt.Sprintf("d%d", d.count)
		d.mu.Unlock()
		if err := d.client.Create(ctx, name, 64<<20, faultfs.Device{}, nil); err != nil {
			return 0, err
		}
		defer func() { _ = d.client.Remove(context.WithoutCancel(ctx), name) }() // the next campaign removes the rest
		at, err := d.attach(filepath.Join(d.dir, "disks", name), "ext4", "", true)
		if err != nil {
			return 0, err
		}
		defer unmount(at)
		if _, err := output("sync", "-f", at); err != nil {
			return 0, err
		}
		if lie {
			if err := d.client.Set(ctx, name, faultfs.Fault{Kind: faultfs.Lie}); err != nil {
				return 0, err
			}
		}
		cutter, err := faultcut.Dial(ctx, d.socket)
		if err != nil {
			return 0, err
		}
		c := &cutting{Cutter: cutter, client: d.client, disk: name}
		if t.rand.IntN(2) == 0 {
			c.cut = faultfs.PowerCut{Keep: t.rand.Float64() * 0.9, Seed: t.rand.Uint64(), Block: 512 << (3 * t.rand.Int64N(2))}
		}
		return judged(probeDisk(ctx, t, at, nil, c))
	}
}
