package device

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs/blockdevice"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/record"
)

// All forms of the file, a name of a partition, and a line that is too short.
const stats = `   8       0 sda 100 10 2000 400 200 20 8000 900 3 500 1300
   8       1 sda1 1 0 8 0
 254       0 vda 100 10 2000 400 200 20 8000 900 3 500 1300 5 1 40 2
 259       0 nvme0n1 100 10 2000 400 200 20 8000 900 3 500 1300 5 1 40 2 50 70
   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
`

func TestDiskstats(t *testing.T) {
	got := tree(t, map[string]string{"proc/diskstats": stats, "sys/x": ""}).Devices()
	if len(got) != 4 {
		t.Fatal(got)
	}
	if c := got["nvme0n1"]; c.FlushRequestsCompleted != 50 || c.TimeSpentFlushing != 70 || !c.HasFlushes ||
		c.DiscardIOs != 5 || c.WeightedIOTicks != 1300 {
		t.Errorf("%+v", c)
	}
	if got["sda"].HasFlushes || got["vda"].HasFlushes || got["loop0"].FlushRequestsCompleted != 16 {
		t.Errorf("%+v", got)
	}
}

// The columns are those that iostat -x 12.6.1 prints for these counters over two seconds.
func TestUsage(t *testing.T) {
	d := Counters{blockdevice.IOStats{ReadIOs: 90, ReadMerges: 10, ReadSectors: 1440, ReadTicks: 45,
		WriteIOs: 300, WriteMerges: 100, WriteSectors: 4800, WriteTicks: 600,
		IOsTotalTicks: 500, WeightedIOTicks: 700, DiscardIOs: 10, DiscardMerges: 0, DiscardSectors: 160, DiscardTicks: 5,
		FlushRequestsCompleted: 100, TimeSpentFlushing: 50}, true}
	want := record.ProbeDevice{Name: "x", Reads: 45, ReadKB: 360, ReadMrg: 5, ReadMrgP: 10, ReadAwait: 0.5, ReadSize: 8,
		Writes: 150, WriteKB: 1200, WriteMrg: 50, WriteMrgP: 25,
		WriteAwait: 2, WriteSize: 8, Discards: 5, DiscardKB: 40, DiscAwait: 0.5, DiscSize: 8, Flushes: 50, FlushAwait: 0.5,
		Queue: 0.35, Util: 25,
		FlushCount: 100, WriteCount: 300, WriteBytes: 4800 * 512, ReadBytes: 1440 * 512}
	if diff := cmp.Diff(want, Usage("x", d, 2)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(record.ProbeDevice{Name: "x"}, Usage("x", Counters{}, 0)); diff != "" {
		t.Error("nothing in no time:", diff)
	}
}

func TestCountersWrap(t *testing.T) {
	counters := func(ticks, writes, queue uint64) Counters {
		return Counters{IOStats: blockdevice.IOStats{ReadTicks: ticks, WriteIOs: writes, IOsInProgress: queue}}
	}
	d := counters(5, 3, 2).Sub(counters(1<<32-10, 7, 1))
	if d.ReadTicks != 15 || d.WriteIOs != 0 || d.IOsInProgress != 2 {
		t.Errorf("%+v", d)
	}
}

// tree writes files of a made-up machine; the value of a name that ends in > is the target of a link.
func tree(t *testing.T, files map[string]string) System {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, strings.TrimSuffix(name, ">"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(path, []byte(content), 0o644)
		if strings.HasSuffix(name, ">") {
			_ = os.Remove(path)
			err = os.Symlink(content, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return System{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

// XFS on LVM on RAID 10 over partitions of two disks: md and dm cannot be had on every kernel, so their files are as
// the kernel's documentation (sysfs-block, md.rst) describes them.
func TestStackOfArrays(t *testing.T) {
	files := map[string]string{
		"sys/class/block/dm-0>": "../../block/dm-0", "sys/class/block/md0>": "../../block/md0",
		"sys/block/dm-0/slaves/md0/x": "", "sys/block/dm-0/dm/name": "vg-mongo\n", "sys/block/dm-0/queue/minimum_io_size": "262144\n", "sys/block/dm-0/size": "2048\n",
		"sys/block/md0/slaves/sda1/x": "", "sys/block/md0/slaves/sdb1/x": "", "sys/block/md0/md/level": "raid10\n", "sys/block/md0/md/chunk_size": "524288\n",
	}
	for _, disk := range []string{"sda", "sdb"} {
		files["sys/class/block/"+disk+">"] = "../../block/" + disk
		files["sys/class/block/"+disk+"1>"] = "../../block/" + disk + "/" + disk + "1"
		files["sys/block/"+disk+"/"+disk+"1/partition"] = "1\n"
		files["sys/block/"+disk+"/queue/write_cache"] = "write back\n"
		files["sys/block/"+disk+"/queue/rotational"] = "1\n"
		files["sys/block/"+disk+"/queue/scheduler"] = "none [mq-deadline] kyber\n"
		files["sys/block/"+disk+"/mq/0/x"] = ""
		files["sys/block/"+disk+"/stat"] = strings.Repeat("1 ", 17)
	}
	w := &walker{system: tree(t, files), at: map[string]int{}}
	w.add("dm-0", "", 0)
	var got []string
	for _, b := range w.list {
		got = append(got, b.Name+" "+b.Kind+" "+strings.Join(b.Above, "+"))
		if b.Leaf != (b.Name == "sda" || b.Name == "sdb") || b.Leaf != b.FlushCounted {
			t.Errorf("%+v", b)
		}
	}
	want := []string{"dm-0 dm ", "md0 md dm-0", "sda1 partition md0", "sda disk sda1", "sdb1 partition md0", "sdb disk sdb1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if md := w.list[1]; md.RAID != "raid10" || md.Chunk != 512<<10 || md.Members != 2 || w.list[0].Chunk != 256<<10 ||
		w.list[3].Scheduler != "mq-deadline" {
		t.Errorf("%+v", w.list)
	}
}

func TestMounts(t *testing.T) {
	list := mountinfo.Parse(`22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 22 0:30 / /mnt/with\040blank rw,noatime shared:1 - btrfs /dev/loop0 rw,space_cache=v2
31 22 7:1 / /data rw,noatime - xfs /dev/loop1 rw,attr2,nobarrier
broken line
`)
	for dir, want := range map[string]string{"/": "/dev/vda", "/data/db": "/dev/loop1", "/database": "/dev/vda", "/mnt/with blank": "/dev/loop0"} {
		if m, ok := mountOf(list, dir); !ok || m.Source != want {
			t.Errorf("%s: %+v", dir, m)
		}
	}
	if got := importantOptions(list[2].Options, list[2].Super); got != "rw,noatime,nobarrier" {
		t.Errorf("options %q", got)
	}
}

func TestHost(t *testing.T) {
	files := map[string]string{"proc/diskstats": stats, "proc/stat": "cpu  100 0 100 700 100 0 0 0 0 0\n", "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
		"proc/self/cgroup": "3:cpu,cpuacct:/a\n0::/\n", "sys/fs/cgroup/cpu/a/cpu.stat": "nr_periods 3\nthrottled_time 1000000000\n"}
	before := tree(t, files).Sample()
	files["proc/stat"], files["proc/pressure/io"] = "cpu  150 0 150 750 100 0 0 50 0 0\n", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"
	files["sys/fs/cgroup/cpu/a/cpu.stat"] = "throttled_time 1250000000\n"
	after := tree(t, files).Sample()
	after.at = before.at.Add(time.Second)
	_, h := Between(before, after, nil, 0)
	if h.IOPressure == nil || *h.IOPressure != 0.5 || h.Steal != 0.25 || h.Busy != 0.5 || h.Throttled != 0.25 {
		t.Errorf("%+v", h)
	}
	if _, ok := after.Counters("nvme0n1"); !ok || len(after.devices) != 4 {
		t.Errorf("devices %v", after.devices)
	}
}
