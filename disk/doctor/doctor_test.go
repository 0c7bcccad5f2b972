package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/record"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

func yes(b bool) *bool { return &b }

func version(text string) facts.Version {
	v, err := facts.ParseVersion(text)
	if err != nil {
		panic(err)
	}
	return v
}

// good is a host and a server that are as recommended.
func good() Input {
	return Input{
		Host: &Host{Kernel: "6.1.0-1", HugePages: "always", Defrag: "defer+madvise", MaxPTEsNone: "0", Swappiness: "1", ZoneReclaim: "0", Nodes: 1,
			Files: 64000, Processes: 64000, Clock: "tsc", MaxMaps: "262144", Overcommit: "1", KeepAlive: "120",
			Storage: &record.ProbeStorage{Filesystem: "xfs", Options: "rw,noatime", Bytes: 100 << 30, Free: 50 << 30,
				Devices: []record.ProbeBlock{{Name: "nvme0n1", Kind: "disk", Leaf: true, Bus: "nvme", Scheduler: "none",
					ReadAheadKiB: 8, WriteCache: "write through"}}}},
		Server: &facts.Facts{Identity: facts.Identity{Kind: facts.Mongod, Vendor: "MongoDB", Release: "8.0.24",
			Version: version("8.0.24")}, FCV: "8.0", Journal: yes(true),
			Cache: 30 << 30, Data: 10 << 30, Concerns: facts.Concerns{W: "majority", Source: facts.Implicit,
				MajorityJournal: yes(true)}, WithData: 3, PerCPU: yes(true),
			Host: facts.HostInfo{Memory: 64 << 30, Machine: 64 << 30}, Config: threeMembers(), Members: []facts.MemberFacts{
				{Address: "a:1", State: "primary", Release: "8.0.24", LastWrite: 100, Within: time.Millisecond},
				{Address: "b:1", State: "secondary", Release: "8.0.24", LastWrite: 99, Clock: 1001 * time.Millisecond, Within: 2 * time.Millisecond},
				{Address: "c:1", State: "secondary", Release: "8.0.24", LastWrite: 100, Within: time.Millisecond}}},
		Process: &Process{PID: 7, Files: 64000, Processes: 64000},
		Now:     time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
	}
}

func threeMembers() facts.Config {
	c := facts.Config{Name: "rs0", Voting: 3}
	for _, host := range []string{"a:1", "b:1", "c:1"} {
		c.Members = append(c.Members, facts.ConfigMember{Host: host, Priority: 1, Votes: 1})
	}
	return c
}

func electionTimeout(ms int) bson.Raw {
	raw, err := bson.Marshal(bson.D{{Key: "settings", Value: bson.D{{Key: "electionTimeoutMillis", Value: ms}}}})
	if err != nil {
		panic(err)
	}
	return raw
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

var slow = int64(25e6)

// mistakes are things that are wrong, by the finding that says so.
var mistakes = map[string]struct {
	change   func(*Input)
	severity string
}{
	"filesystem": {func(in *Input) { in.Host.Storage.Filesystem = "ext4" }, record.DoctorWarning},
	"noatime":    {func(in *Input) { in.Host.Storage.Options = "rw" }, record.DoctorWarning},
	"barriers":   {func(in *Input) { in.Host.Storage.Options = "rw,noatime,nobarrier" }, record.DoctorCritical},
	"read-ahead": {func(in *Input) { in.Host.Storage.Devices[0].ReadAheadKiB = 4096 }, record.DoctorWarning},
	"scheduler":  {func(in *Input) { in.Host.Storage.Devices[0].Scheduler = "bfq" }, record.DoctorWarning},
	"raid": {func(in *Input) {
		in.Host.Storage.Devices[0].Kind, in.Host.Storage.Devices[0].RAID = "md",
			"raid5"
	}, record.DoctorWarning},
	"stripe-size": {func(in *Input) {
		d := &in.Host.Storage.Devices[0]
		d.Kind, d.RAID, d.Chunk = "md",
			"raid10", 512<<10
	}, record.DoctorAdvice},
	"free-space":             {func(in *Input) { in.Host.Storage.Free = 1 << 30 }, record.DoctorCritical},
	"memory-device":          {func(in *Input) { in.Host.Storage.Memory = []string{"tmpfs below loop0"} }, record.DoctorCritical},
	"transparent-huge-pages": {func(in *Input) { in.Server.Version, in.Server.FCV = version("7.0.35"), "7.0" }, record.DoctorWarning},
	"swappiness":             {func(in *Input) { in.Host.Swappiness, in.Host.Swap = "60", 1<<30 }, record.DoctorWarning},
	"numa":                   {func(in *Input) { in.Host.Nodes = 2 }, record.DoctorWarning},
	"limits":                 {func(in *Input) { in.Process.Files = 1024 }, record.DoctorWarning},
	"clock-source":           {func(in *Input) { in.Host.Clock = "hpet" }, record.DoctorWarning},
	"kernel":                 {func(in *Input) { in.Host.Kernel = "3.10.0" }, record.DoctorWarning},
	"governor":               {func(in *Input) { in.Host.Governor = "powersave" }, record.DoctorAdvice},
	"max-map-count":          {func(in *Input) { in.Host.MaxMaps = "65530" }, record.DoctorAdvice},
	"tcp-keepalive":          {func(in *Input) { in.Host.KeepAlive = "7200" }, record.DoctorAdvice},
	"cache-size":             {func(in *Input) { in.Server.Cache = 60 << 30 }, record.DoctorWarning},
	"working-set":            {func(in *Input) { in.Server.Data = 300 << 30 }, record.DoctorAdvice},
	"journal":                {func(in *Input) { in.Server.Journal = yes(false) }, record.DoctorCritical},
	"majority-journal":       {func(in *Input) { in.Server.Concerns.MajorityJournal = yes(false) }, record.DoctorCritical},
	"default-write-concern":  {func(in *Input) { in.Server.Concerns.W = "1" }, record.DoctorWarning},
	"version": {func(in *Input) {
		in.Server.Version, in.Host.HugePages, in.Server.FCV = version("6.0.28"), "never", "6.0"
	}, record.DoctorWarning},
	"feature-compatibility": {func(in *Input) { in.Server.FCV = "7.0" }, record.DoctorAdvice},
	"members": {func(in *Input) {
		in.Server.Config.Members = append(in.Server.Config.Members, facts.ConfigMember{Host: "d:1"})
		in.Server.Members = append(in.Server.Members, facts.MemberFacts{Address: "d:1", Problem: "connection refused"})
	}, record.DoctorWarning},
	"majority": {func(in *Input) {
		in.Server.Config.Members, in.Server.Members = in.Server.Config.Members[:2], in.Server.Members[:2]
	}, record.DoctorWarning},
	"member-versions":  {func(in *Input) { in.Server.Members[2].Release = "8.0.23" }, record.DoctorWarning},
	"election-timeout": {func(in *Input) { in.Server.Config.Raw = electionTimeout(1000) }, record.DoctorAdvice},
	"electable-members": {func(in *Input) {
		in.Server.Config.Members[1].Priority, in.Server.Config.Members[2].Priority = 0, 0
	}, record.DoctorWarning},
	"clocks":          {func(in *Input) { in.Server.Members[2].Clock = -3 * time.Second }, record.DoctorWarning},
	"replication-lag": {func(in *Input) { in.Server.Members[1].LastWrite = 80 }, record.DoctorWarning},
	"server-answers":  {func(in *Input) { in.Server.Refused = []string{"serverStatus"} }, record.DoctorUnknown},
	"vulnerabilities": {func(in *Input) { in.Server.Version = version("8.0.12") }, record.DoctorWarning},
	"per-cpu-caches":  {func(in *Input) { in.Server.PerCPU = yes(false) }, record.DoctorWarning},
	"overcommit":      {func(in *Input) { in.Host.Overcommit = "0" }, record.DoctorAdvice},
	"startup-warning": {func(in *Input) { in.Server.Warnings = []string{"Access control is not enabled for the database"} }, record.DoctorWarning},
	"durability":      {func(in *Input) { in.Probe = &record.Probe{Verdict: record.Lying} }, record.DoctorCritical},
	"journal-flush": {func(in *Input) {
		in.Probe = &record.Probe{Verdict: record.Honest,
			Journal: &record.ProbeJournalResult{Flush: &record.Latency{P99: &slow}}}
	}, record.DoctorWarning},
	"checkpoint-stall": {func(in *Input) {
		in.Probe = &record.Probe{Verdict: record.Honest, Checkpoint: &record.ProbeCheckpointResult{Stalled: 5e9,
			Inside: &record.Latency{P99: &slow}, Outside: &record.Latency{P99: &slow}}}
	}, record.DoctorWarning},
}

// Each thing that is wrong is found, and said with what is recommended, why, and how to change it.
func TestFindings(t *testing.T) {
	for id, c := range mistakes {
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
	in.Server = &facts.Facts{Identity: facts.Identity{Kind: facts.FerretDB, Release: "v2.7.0", Version: version("7.0.77")},
		Backend: "PostgreSQL 18.6 with DocumentDB 1.0.0", Data: 1 << 30}
	got := map[string]string{}
	for _, f := range Check(in) {
		if f.Severity != record.DoctorGood || f.Area == server {
			got[f.ID] = f.Severity
		}
	}
	want := map[string]string{"engine": record.DoctorGood, "data-size": record.DoctorGood,
		"cache-size": record.DoctorUnknown, "journal": record.DoctorUnknown, "default-write-concern": record.DoctorAdvice}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	in = good()
	in.Server.Kind = facts.Mongos
	for _, f := range Check(in) {
		if f.Severity != record.DoctorGood && f.ID != "router" {
			t.Errorf("a router has %+v", f)
		}
	}
}

// A server on another machine is judged by its own words: nothing of this machine is held against it.
func TestOtherMachine(t *testing.T) {
	in := good()
	in.Host, in.Process = nil, nil
	in.Server.Host = facts.HostInfo{Name: "db1", OS: "Linux", Kernel: "4.15.0", Memory: 8 << 30, Machine: 64 << 30, MaxFiles: 1024}
	got := map[string]string{}
	for _, f := range Check(in) {
		if f.Area == storage {
			t.Errorf("%+v", f)
		}
		if f.Severity != record.DoctorGood {
			got[f.ID] = f.Severity
		}
	}
	want := map[string]string{"other-machine": record.DoctorUnknown, "kernel": record.DoctorWarning,
		"limits": record.DoctorWarning, "cache-size": record.DoctorWarning}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A process proves that it is the server by its name, its age and the name of the machine.
func TestRunning(t *testing.T) {
	root, name := t.TempDir(), ""
	var err error
	if name, err = os.Hostname(); err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data := t.TempDir()
	write("7/comm", "mongod\n")
	write("7/stat", "7 (mongod) S 1 7 7 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 30 0 100000 1 1")
	write("uptime", "1600.00 3000.00\n")
	write("7/limits", "Limit                     Soft Limit           Hard Limit           Units\nMax processes             unlimited            unlimited            processes\nMax open files            1024                 524288               files\n")
	if err := os.Symlink("/", filepath.Join(root, "7/root")); err != nil {
		t.Fatal(err)
	}
	s := device.System{Proc: root}
	f := facts.Facts{Identity: facts.Identity{Kind: facts.Mongod}, PID: 7, Uptime: 599 * time.Second, DBPath: data,
		Host: facts.HostInfo{Name: name}}
	if p := Running(s, f); p == nil || p.Files != 1024 || p.Processes < 1<<40 || p.DBPath != data {
		t.Errorf("%+v", p)
	}
	for what, change := range map[string]func(*facts.Facts){
		"another machine": func(f *facts.Facts) { f.Host.Name = name + "x" },
		"another age":     func(f *facts.Facts) { f.Uptime = time.Hour },
		"another process": func(f *facts.Facts) { f.PID = 8 },
		"another program": func(f *facts.Facts) { f.Kind = facts.Mongos },
	} {
		other := f
		change(&other)
		if p := Running(s, other); p != nil {
			t.Errorf("%s: %+v", what, p)
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
	if err != nil || h.Swappiness != "60" || h.Swap != 8<<10 || h.HugePages != "madvise" || h.Nodes != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err = Look(device.Here(), t.TempDir()); err != nil || h.Storage == nil || h.Storage.Filesystem == "" {
		t.Errorf("%+v, %v", h, err)
	}
}

// What an election and a majority write need, and what may still fail.
func TestMajority(t *testing.T) {
	for name, c := range map[string]struct {
		arbiter, silent []int
		votes           map[int]int
		members         int
		want            string
	}{
		"three":                             {members: 3, want: record.DoctorGood},
		"three, one dead":                   {members: 3, silent: []int{1}, want: record.DoctorWarning},
		"three, two dead":                   {members: 3, silent: []int{1, 2}, want: record.DoctorCritical},
		"two":                               {members: 2, want: record.DoctorWarning},
		"two with data and an arbiter":      {members: 3, arbiter: []int{2}, want: record.DoctorWarning},
		"the same, a member with data dead": {members: 3, arbiter: []int{2}, silent: []int{1}, want: record.DoctorCritical},
		"five, one dead":                    {members: 5, silent: []int{4}, want: record.DoctorGood},
		"five, two dead":                    {members: 5, silent: []int{3, 4}, want: record.DoctorWarning},
		"a dead member without a vote":      {members: 4, votes: map[int]int{3: 0}, silent: []int{3}, want: record.DoctorGood},
	} {
		in := good()
		in.Server.Config, in.Server.Members = facts.Config{}, nil
		for i := range c.members {
			m := facts.ConfigMember{Host: string(rune('a' + i)), Priority: 1, Votes: 1, Arbiter: slices.Contains(c.arbiter, i)}
			if votes, ok := c.votes[i]; ok {
				m.Votes = votes
			}
			state := facts.MemberFacts{Address: m.Host, State: "secondary"}
			if slices.Contains(c.silent, i) {
				state = facts.MemberFacts{Address: m.Host, Problem: "refused"}
			}
			in.Server.Config.Members = append(in.Server.Config.Members, m)
			in.Server.Members = append(in.Server.Members, state)
		}
		if f := spare(in.Server)[0]; f.Severity != c.want {
			t.Errorf("%s: %s, want %s: %s", name, f.Severity, c.want, f.Is)
		}
	}
}

// A warning of the server's start about what the doctor read itself is not repeated.
func TestStartupWarningsAreNotRepeated(t *testing.T) {
	in := good()
	in.Server.Warnings = []string{"Soft rlimits for open file descriptors too low", "/sys/kernel/mm/transparent_hugepage/enabled is 'always'",
		"Access control is not enabled for the database", "Access control is not enabled for the database"}
	count := func() (n int) {
		for _, f := range Check(in) {
			if f.ID == "startup-warning" {
				n++
			}
		}
		return n
	}
	if n := count(); n != 1 {
		t.Errorf("%d warnings on the machine of the server", n)
	}
	if in.Host, in.Process = nil, nil; count() != 3 {
		t.Errorf("%d warnings on another machine", count())
	}
}
