package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/record"
)

func yes(b bool) *bool { return &b }

// good is a host and a server that are as recommended.
func good() Input {
	return Input{
		Host: &Host{Kernel: "6.1.0-1", HugePages: "always", Defrag: "defer+madvise", MaxPTEsNone: "0", Swappiness: "1", ZoneReclaim: "0", Nodes: 1,
			Files: 64000, Processes: 64000, Clock: "tsc", MaxMaps: "262144", KeepAlive: "120", Memory: 64 << 30,
			Storage: &record.ProbeStorage{Filesystem: "xfs", Options: "rw,noatime", Bytes: 100 << 30, Free: 50 << 30,
				Devices: []record.ProbeBlock{{Name: "nvme0n1", Kind: "disk", Leaf: true, Bus: "nvme", Scheduler: "none", ReadAheadKiB: 8, WriteCache: "write through"}}}},
		Server: &Server{Version: "8.0.4", FCV: "8.0", Journal: yes(true), MajorityJournal: yes(true), Cache: 30 << 30, Data: 10 << 30, DefaultW: "majority", Members: 3, Local: true},
	}
}

func TestGood(t *testing.T) {
	list := Check(good())
	if Worst(list) != record.DoctorGood || len(list) < 20 {
		for _, f := range list {
			if f.Severity != record.DoctorGood {
				t.Errorf("%+v", f)
			}
		}
		t.Errorf("%d findings, worst %s", len(list), Worst(list))
	}
}

// Each thing that is wrong is found, and said with what is recommended, why, and how to change it.
func TestFindings(t *testing.T) {
	p99 := int64(25e6)
	for id, c := range map[string]struct {
		change   func(*Input)
		severity string
	}{
		"filesystem":             {func(in *Input) { in.Host.Storage.Filesystem = "ext4" }, record.DoctorWarning},
		"noatime":                {func(in *Input) { in.Host.Storage.Options = "rw" }, record.DoctorWarning},
		"barriers":               {func(in *Input) { in.Host.Storage.Options = "rw,noatime,nobarrier" }, record.DoctorCritical},
		"read-ahead":             {func(in *Input) { in.Host.Storage.Devices[0].ReadAheadKiB = 4096 }, record.DoctorWarning},
		"scheduler":              {func(in *Input) { in.Host.Storage.Devices[0].Scheduler = "bfq" }, record.DoctorWarning},
		"raid":                   {func(in *Input) { in.Host.Storage.Devices[0].Kind, in.Host.Storage.Devices[0].RAID = "md", "raid5" }, record.DoctorWarning},
		"stripe-size":            {func(in *Input) { d := &in.Host.Storage.Devices[0]; d.Kind, d.RAID, d.Chunk = "md", "raid10", 512<<10 }, record.DoctorAdvice},
		"free-space":             {func(in *Input) { in.Host.Storage.Free = 1 << 30 }, record.DoctorCritical},
		"memory-device":          {func(in *Input) { in.Host.Storage.Devices[0].Bus = "zram" }, record.DoctorCritical},
		"transparent-huge-pages": {func(in *Input) { in.Server.Version, in.Server.FCV = "7.0.2", "7.0" }, record.DoctorWarning},
		"swappiness":             {func(in *Input) { in.Host.Swappiness, in.Host.Swap = "60", 1<<30 }, record.DoctorWarning},
		"numa":                   {func(in *Input) { in.Host.Nodes = 2 }, record.DoctorWarning},
		"limits":                 {func(in *Input) { in.Host.Files = 1024 }, record.DoctorWarning},
		"clock-source":           {func(in *Input) { in.Host.Clock = "hpet" }, record.DoctorWarning},
		"kernel":                 {func(in *Input) { in.Host.Kernel = "3.10.0" }, record.DoctorWarning},
		"governor":               {func(in *Input) { in.Host.Governor = "powersave" }, record.DoctorAdvice},
		"max-map-count":          {func(in *Input) { in.Host.MaxMaps = "65530" }, record.DoctorAdvice},
		"tcp-keepalive":          {func(in *Input) { in.Host.KeepAlive = "7200" }, record.DoctorAdvice},
		"cache-size":             {func(in *Input) { in.Server.Cache = 60 << 30 }, record.DoctorWarning},
		"working-set":            {func(in *Input) { in.Server.Data = 300 << 30 }, record.DoctorAdvice},
		"journal":                {func(in *Input) { in.Server.Journal = yes(false) }, record.DoctorCritical},
		"majority-journal":       {func(in *Input) { in.Server.MajorityJournal = yes(false) }, record.DoctorCritical},
		"default-write-concern":  {func(in *Input) { in.Server.DefaultW = "1" }, record.DoctorWarning},
		"version":                {func(in *Input) { in.Server.Version, in.Host.HugePages, in.Server.FCV = "4.4.1", "never", "4.4" }, record.DoctorWarning},
		"feature-compatibility":  {func(in *Input) { in.Server.FCV = "7.0" }, record.DoctorAdvice},
		"server-answers":         {func(in *Input) { in.Server.Problem = "not answered: serverStatus" }, record.DoctorUnknown},
		"durability":             {func(in *Input) { in.Probe = &record.Probe{Verdict: record.Lying} }, record.DoctorCritical},
		"journal-flush": {func(in *Input) {
			in.Probe = &record.Probe{Verdict: record.Honest, Journal: &record.ProbeJournalResult{Flush: &record.Latency{P99: &p99}}}
		}, record.DoctorWarning},
		"checkpoint-stall": {func(in *Input) {
			in.Probe = &record.Probe{Verdict: record.Honest, Checkpoint: &record.ProbeCheckpointResult{Stalled: 5e9, Inside: &record.Latency{P99: &p99}, Outside: &record.Latency{P99: &p99}}}
		}, record.DoctorWarning},
	} {
		in := good()
		c.change(&in)
		found := false
		for _, f := range Check(in) {
			if f.ID == id {
				found = true
				if f.Severity != c.severity || f.Is == "" || f.Why == "" || f.Recommended == "" {
					t.Errorf("%s: %+v", id, f)
				}
			} else if f.Severity != record.DoctorGood {
				t.Errorf("%s: also %+v", id, f)
			}
		}
		if !found {
			t.Errorf("%s was not found", id)
		}
	}
}

// A gateway in front of another database is not held against what is recommended for mongod, and a router not against
// what its members have.
func TestOtherServers(t *testing.T) {
	in := good()
	in.Host.HugePages, in.Host.MaxMaps, in.Host.Storage.Filesystem = "madvise", "65530", "ext4"
	in.Server = &Server{Version: "7.0.77", Gateway: "FerretDB v2.7.0", Backend: "PostgreSQL 18.6 with DocumentDB 1.0.0", Data: 1 << 30, FCV: "7.0"}
	got := map[string]string{}
	for _, f := range Check(in) {
		if f.Severity != record.DoctorGood || f.Area == server {
			got[f.ID] = f.Severity
		}
	}
	want := map[string]string{"engine": record.DoctorGood, "data-size": record.DoctorGood, "cache-size": record.DoctorUnknown, "journal": record.DoctorUnknown, "default-write-concern": record.DoctorAdvice}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	in = good()
	in.Server = &Server{Version: "8.0.4", Router: true, DefaultW: "majority"}
	for _, f := range Check(in) {
		if f.Severity != record.DoctorGood && f.ID != "router" {
			t.Errorf("a router has %+v", f)
		}
	}
}

func TestLook(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/sys/vm/swappiness": "60\n", "proc/meminfo": "MemTotal: 1024 kB\nSwapTotal: 8 kB\n", "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/devices/system/node/node0/x": "", "sys/devices/system/node/node1/x": "",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Look(device.System{Proc: root + "/proc", Sys: root + "/sys"}, "")
	if err != nil || h.Swappiness != "60" || h.Memory != 1<<20 || h.Swap != 8<<10 || h.HugePages != "madvise" || h.Nodes != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err = Look(device.Here(), t.TempDir()); err != nil || h.Storage == nil || h.Storage.Filesystem == "" {
		t.Errorf("%+v, %v", h, err)
	}
}

// A person who reads a finding of a probe looks its name up in the documentation.
func TestProbeFindingsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/disk.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), `p.find("`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			if n++; !strings.Contains(string(page), "`"+id+"`") {
				t.Errorf("%s: the finding %q is not in docs/disk.md", name, id)
			}
		}
	}
	if n < 10 {
		t.Errorf("found only %d findings", n)
	}
}
