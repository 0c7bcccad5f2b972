package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// everything is a machine that has all there is.
func everything() Facts {
	ok := Support{Kernel: true, Tools: true}
	return Facts{OS: "linux", Root: true, Loop: true, FUSE: true, Btrfs: ok, XFS: ok, Ext4: ok, MD: ok, LVM: ok}
}

// standIns is a directory with programs that write down how they are called.
type standIns struct{ dir string }

func newStandIns(t *testing.T) standIns {
	t.Helper()
	s := standIns{t.TempDir()}
	for program, from := range map[string]string{"mdadm": "mdadm", "pvcreate": "lvm", "vgcreate": "lvm", "lvcreate": "lvm", "lvs": "lvm",
		"vgs": "lvm", "vgchange": "lvm", "lvchange": "lvm", "vgextend": "lvm", "lvconvert": "lvm", "vgreduce": "lvm", "vgremove": "lvm",
		"mkfs.xfs": "mkfs", "mkfs.ext4": "mkfs"} {
		script, err := os.ReadFile(filepath.Join("testdata", "tools", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, program), script, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// said returns the calls since it was asked last.
func (s standIns) said(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(s.dir, "conversation")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return lines(string(text))
}

func (s standIns) array(t *testing.T, backend string, p spec.Storage) array {
	t.Helper()
	p.Size = 1 << 30
	sch, err := schemeFor(backend, p, everything())
	if err != nil {
		t.Fatal(err)
	}
	return newArray(sch, tools(s), "plimsoll-x-v1")
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func devices(n int) []string {
	return []string{"/dev/loop0", "/dev/loop1", "/dev/loop2", "/dev/loop3", "/dev/loop4", "/dev/loop5"}[:n]
}

const (
	mdStart = "mdadm --create /dev/md/plimsoll-x-v1 --run --quiet --metadata=1.2 --homehost=any --name=plimsoll-x-v1 "
	mdXFS   = "mkfs.xfs -q -f -K /dev/md/plimsoll-x-v1"
)

func TestMDIsMade(t *testing.T) {
	s := newStandIns(t)
	for _, c := range []struct {
		p    spec.Storage
		n    int
		want string
	}{
		{spec.Storage{Stripe: 2}, 2, "--level=0 --raid-devices=2 --chunk=512K"},
		{spec.Storage{Stripe: 2, StripeSize: 64 << 10}, 2, "--level=0 --raid-devices=2 --chunk=64K"},
		{spec.Storage{Tolerate: 1}, 2, "--level=1 --raid-devices=2 --assume-clean --bitmap=internal"},
		{spec.Storage{Tolerate: 2}, 3, "--level=1 --raid-devices=3 --assume-clean --bitmap=internal"},
		{spec.Storage{Stripe: 2, Tolerate: 1}, 4, "--level=10 --raid-devices=4 --layout=n2 --chunk=512K --assume-clean --bitmap=internal"},
		{spec.Storage{Stripe: 2, Tolerate: 2}, 6, "--level=10 --raid-devices=6 --layout=n3 --chunk=512K --assume-clean --bitmap=internal"},
		{spec.Storage{Stripe: 3, Tolerate: 1, Redundancy: "parity"}, 4, "--level=5 --raid-devices=4 --chunk=512K --assume-clean --bitmap=internal"},
		{spec.Storage{Stripe: 4, Tolerate: 2, Redundancy: "parity"}, 6, "--level=6 --raid-devices=6 --chunk=512K --assume-clean --bitmap=internal"},
	} {
		a := s.array(t, MD, c.p)
		if err := a.format(context.Background(), devices(c.n)); err != nil {
			t.Fatal(err)
		}
		expect(t, s.said(t), mdStart+c.want+" "+strings.Join(devices(c.n), " "), mdXFS)
	}
}

func TestMDIsRepaired(t *testing.T) {
	s, ctx := newStandIns(t), context.Background()
	a := s.array(t, MD, spec.Storage{Tolerate: 1, Filesystem: "ext4"})
	const manage = "mdadm --manage /dev/md/plimsoll-x-v1 "
	if err := a.rejoin(ctx, "/dev/loop1"); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t), manage+"--remove /dev/loop1", manage+"--re-add /dev/loop1", "mdadm --wait /dev/md/plimsoll-x-v1")
	if err := os.WriteFile(filepath.Join(s.dir, "too-old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.rejoin(ctx, "/dev/loop1"); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t), manage+"--remove /dev/loop1", manage+"--re-add /dev/loop1", manage+"--add /dev/loop1", "mdadm --wait /dev/md/plimsoll-x-v1")
	if err := a.replace(ctx, "/m", 1, "/dev/loop1", "/dev/loop7"); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t), manage+"--fail /dev/loop1", manage+"--remove /dev/loop1", manage+"--add /dev/loop7", "mdadm --wait /dev/md/plimsoll-x-v1")
	if _, err := a.verify(ctx, "/m", false); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t), "mdadm --action=repair /dev/md/plimsoll-x-v1", "mdadm --wait /dev/md/plimsoll-x-v1")
	if err := errors.Join(a.release(ctx), a.assemble(ctx, []string{"/dev/loop0"})); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t), "mdadm --stop --quiet /dev/md/plimsoll-x-v1", "mdadm --assemble --run --quiet /dev/md/plimsoll-x-v1 /dev/loop0")
	if err := os.WriteFile(filepath.Join(s.dir, "busy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.release(ctx); err == nil || !strings.Contains(err.Error(), "exclusive access") {
		t.Errorf("got %v, want what mdadm says", err)
	}
	s.said(t)
	stripe := s.array(t, MD, spec.Storage{Stripe: 2})
	if err := stripe.replace(ctx, "/m", 0, "/dev/loop0", "/dev/loop7"); !errors.Is(err, errNoCopy) {
		t.Errorf("a stripe is rebuilt from nothing: %v", err)
	}
	expect(t, s.said(t))
}

func TestLVMIsMade(t *testing.T) {
	s := newStandIns(t)
	for _, c := range []struct {
		p    spec.Storage
		n    int
		want string
	}{
		{spec.Storage{Stripe: 2, StripeSize: 128 << 10}, 2, "--type striped --stripes 2 --stripesize 128k"},
		{spec.Storage{Tolerate: 1}, 2, "--type raid1 --mirrors 1 --nosync"},
		{spec.Storage{Tolerate: 2}, 3, "--type raid1 --mirrors 2 --nosync"},
		{spec.Storage{Stripe: 2, Tolerate: 1}, 4, "--type raid10 --stripes 2 --stripesize 64k --mirrors 1 --nosync"},
		{spec.Storage{Stripe: 3, Tolerate: 1, Redundancy: "parity"}, 4, "--type raid5 --stripes 3 --stripesize 64k"},
	} {
		a := s.array(t, LVM, c.p)
		if err := a.format(context.Background(), devices(c.n)); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(devices(c.n), " ")
		expect(t, s.said(t), "pvcreate --yes --quiet "+all, "vgcreate --yes --quiet plimsoll-x-v1 "+all,
			"lvcreate --yes --quiet --wipesignatures n "+c.want+" --extents 100%FREE --name data plimsoll-x-v1",
			"mkfs.xfs -q -f -K /dev/plimsoll-x-v1/data")
	}
	const want = `devices { use_devicesfile=0 filter=["a|^/dev/loop0$|","a|^/dev/loop1$|","a|^/dev/loop2$|","a|^/dev/loop3$|","r|.*|"] ` +
		`global_filter=["a|^/dev/loop0$|","a|^/dev/loop1$|","a|^/dev/loop2$|","a|^/dev/loop3$|","r|.*|"] } backup { backup=0 archive=0 }`
	got, err := os.ReadFile(filepath.Join(s.dir, "config"))
	if diff := cmp.Diff(want, strings.TrimSpace(string(got))); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestLVMIsRepaired(t *testing.T) {
	s, ctx := newStandIns(t), context.Background()
	a := s.array(t, LVM, spec.Storage{Tolerate: 1})
	if err := a.format(ctx, devices(2)); err != nil {
		t.Fatal(err)
	}
	s.said(t)
	if err := errors.Join(a.rejoin(ctx, "/dev/loop1"), a.replace(ctx, "/m", 1, "/dev/loop1", "/dev/loop7")); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t), "lvchange --quiet --refresh plimsoll-x-v1/data", "pvcreate --yes --quiet /dev/loop7",
		"vgextend --yes --quiet plimsoll-x-v1 /dev/loop7", "lvconvert --yes --quiet --repair plimsoll-x-v1/data /dev/loop7",
		"vgreduce --quiet --removemissing plimsoll-x-v1")
	v, err := a.verify(ctx, "/m", false)
	if err != nil || v.String() != "8 differing sectors repaired" {
		t.Errorf("got %v, %v", v, err)
	}
	if err := errors.Join(a.release(ctx), a.assemble(ctx, nil)); err != nil {
		t.Error(err)
	}
	expect(t, s.said(t)[2:], "vgchange --quiet --activate n plimsoll-x-v1", "vgchange --quiet --activationmode degraded --activate y plimsoll-x-v1")
	if e, err := a.examine(ctx, "/m"); err != nil || e.degraded || e.rebuilding {
		t.Errorf("got %+v, %v, want a healthy volume", e, err)
	}
}

func TestWhatLVSSays(t *testing.T) {
	for text, want := range map[string]examined{
		"  ;100.00;idle;0\n":                             {},
		"  partial;100.00;idle;0\n":                      {degraded: true, detail: "partial"},
		"  WARNING: x\n  refresh needed;12.50;recover;0": {degraded: true, rebuilding: true, detail: "refresh needed recover 12.50%"},
		"": {},
	} {
		if diff := cmp.Diff(want, parseLVS(text), cmp.AllowUnexported(examined{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

const mdstat = `Personalities : [raid1] [raid6] [raid5] [raid4]
md127 : active raid1 loop1[1](F) loop0[0]
      130048 blocks super 1.2 [2/1] [U_]
      bitmap: 0/1 pages [0KB], 65536KB chunk

md5 : active raid5 loop9[4] loop8[2] loop7[1] loop6[0]
      390144 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/3] [UUU_]
      [==>..................]  recovery = 12.6% (16400/130048) finish=0.1min speed=16400K/sec

md6 : active raid0 loop4[1] loop3[0]
      260096 blocks super 1.2 512k chunks

unused devices: <none>
`

func TestWhatMDStatSays(t *testing.T) {
	want := map[string]examined{
		"md127": {errors: map[string]int64{"/dev/loop1": 1}, degraded: true, detail: "loop1 faulty [U_]"},
		"md5":   {errors: map[string]int64{}, degraded: true, rebuilding: true, detail: "[UUU_] recovery 12.6%"},
		"md6":   {errors: map[string]int64{}},
	}
	if diff := cmp.Diff(want, parseMDStat(mdstat), cmp.AllowUnexported(examined{})); diff != "" {
		t.Error(diff)
	}
	for device, works := range map[string]bool{"/dev/loop0": true, "/dev/loop1": false, "/dev/loop9": false} {
		if mdWorks(mdstat, "md127", device) != works {
			t.Errorf("%s works in md127: %v, want %v", device, !works, works)
		}
	}
}

func TestWhatBtrfsCounts(t *testing.T) {
	got := parseBtrfsStats("[/dev/loop0].write_io_errs    0\n[/dev/loop1].write_io_errs    1505\n[/dev/loop1].flush_io_errs    300\nnonsense\n")
	want := examined{errors: map[string]int64{"/dev/loop1": 1805}, detail: "/dev/loop1 write_io_errs 1,505, /dev/loop1 flush_io_errs 300"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(examined{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzParsers(f *testing.F) {
	f.Add(mdstat)
	f.Add("[/dev/loop0].write_io_errs    1\n  ;100.00;idle;0\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, e := range parseMDStat(text) {
			if !strings.HasPrefix(name, "md") {
				t.Errorf("an array is called %q", name)
			}
			_ = e
		}
		for device, n := range parseBtrfsStats(text).errors {
			if n <= 0 {
				t.Errorf("%s has %d errors", device, n)
			}
		}
		parseLVS(text)
		mdWorks(text, "md0", "/dev/loop0")
	})
}
