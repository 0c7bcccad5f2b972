package fault

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The names of the actions on hosts and members.
const (
	PowerOff    = "power-off"
	PowerLoss   = "power-loss"
	Cut         = "cut"
	Slow        = "slow"
	Throttle    = "throttle"
	Pause       = "pause"
	Kill        = "kill"
	KillPatroni = "kill-patroni" // what manages a server, and not the server
	Stop        = "stop"
)

// The names of planned events and changes of members.
const (
	StepDown       = "step-down"
	RollingRestart = "rolling-restart"
	IndexBuild     = "index-build"
	InitialSync    = "initial-sync"
	RemoveMember   = "remove-member"
	AddMember      = "add-member"
	ChunkMigration = "chunk-migration"
	Compaction     = "compaction"
	Backup         = "backup"
)

// The names of the actions on disks.
const (
	DiskFail    = "disk-fail"
	DiskError   = "disk-error"
	DiskFull    = "disk-full"
	DiskSlow    = "disk-slow"
	DiskHang    = "disk-hang"
	DiskCorrupt = "disk-corrupt"
	DiskTorn    = "disk-torn"
	DiskLie     = "disk-lie"
)

// Targets that stand for several things.
const (
	AllSets    = "all"      // all sets of the deployment
	OfWorkload = "workload" // the collection of the workload
)

// The directions of the packets that a cut drops, seen from the host.
const (
	Both = "both"
	In   = "in"
	Out  = "out"
)

var ofLabs = []Action{
	{Name: PowerOff, On: Host, Lasts: true, Fate: NoPower, TakesDown: true,
		Mode: Crash, Isolated: BlackHole, // an isolated host has a link, which goes down
		Help: "all its processes are killed at once, its network link is down, its disks do not answer"},
	{Name: PowerLoss, On: Host, Needs: NeedsFaults, Takes: []string{"keep"}, Lasts: true, Fate: NoPower, TakesDown: true,
		Mode: Crash, Isolated: BlackHole, Check: func(f spec.Fault) error { return refused(CutOf(f).Check()) },
		Help: "like power-off, and its disks lose all data that were not flushed (--keep: this share of them survives)"},
	{Name: Cut, On: Host, Needs: NeedsIsolated, Takes: []string{"from", "direction"}, Lasts: true, TakesDown: true, Mode: BlackHole,
		Help:  "packets between it and all other hosts are dropped (--from: one host only; --direction: in or out only)",
		Check: directed},
	{Name: Slow, On: Host, Needs: NeedsIsolated, Takes: []string{"rate"}, Lasts: true, Mode: Late,
		Help: "its network link is limited to --rate bytes per second", Check: needsRate},
	{Name: Throttle, On: Host, Needs: NeedsIsolated, Takes: []string{"cores"}, Lasts: true, Mode: Late,
		Help: "its processes may use --cores cores together", Check: needsCores},
	{Name: Pause, On: Host | Member, Lasts: true, Fate: Paused, TakesDown: true, Mode: BlackHole,
		Help: "all its processes are suspended"},
	{Name: Kill, On: Member, Lasts: true, Fate: End, TakesDown: true, Mode: Crash,
		Help: "SIGKILL; the server does not start again before the fault is reverted"},
	{Name: KillPatroni, On: Member, Lasts: true, HandsOver: true, Mode: Crash,
		Help: "SIGKILL of its Patroni; PostgreSQL runs on (documentdb)"},
	{Name: Stop, On: Member, Lasts: true, Fate: End, TakesDown: true, Mode: Planned, Help: "a clean shutdown"},
	{Name: StepDown, On: Member, Implied: "primary", Event: true, Plain: true, Needs: NeedsSet, HandsOver: true, Mode: Planned,
		Help: "the primary hands over its role to another member"},
	{Name: RollingRestart, On: Set, Implied: AllSets, Event: true, DrillOnly: true, Mode: Planned,
		Help: "each member is stopped cleanly and started again, the secondaries first; the primary hands over before its turn"},
	{Name: IndexBuild, On: Collection, Implied: OfWorkload, Event: true, Plain: true, DrillOnly: true, Mode: Planned,
		Help: "an index on the first field after _id is built; it is dropped after the load"},
	{Name: InitialSync, On: Member, Needs: NeedsSet, Event: true, TakesDown: true, Mode: Planned,
		Help: "a secondary is stopped, its data are deleted, and it copies all data from another member"},
	{Name: RemoveMember, On: Member, Needs: NeedsSet, Lasts: true, TakesDown: true, Mode: Planned,
		Lacking: "the members of its set are those that run; use " + Stop,
		Help:    "the set is configured without the member; reverting adds the member again"},
	{Name: AddMember, On: Member, Needs: NeedsSet, Lasts: true, Mode: Planned,
		NoLab:   "a lab has no spare member. Use " + RemoveMember + ": reverting adds the member again",
		Lacking: "the members of its set are those that run",
		Help:    "a new member is added to the set, with the commands of a platform file"},
	{Name: ChunkMigration, On: Collection, Implied: OfWorkload, Needs: NeedsShards, Event: true, Plain: true,
		DrillOnly: true, Mode: Planned, Lacking: "it has no shards",
		Help: "a chunk is moved from the shard that has the most chunks to the one that has the fewest"},
	{Name: Compaction, On: Member, Event: true, Plain: true, DrillOnly: true, Mode: Planned,
		Lacking: "it has no compact command; PostgreSQL reuses space by vacuum",
		Help:    "the command compact, for each collection of the workload"},
	{Name: Backup, On: Member, Event: true, Mode: Planned,
		Lacking: "its gateway has no fsyncLock; use pg_basebackup",
		Help: "fsyncLock holds the writes of a member while its data directory is copied, until fsyncUnlock. On xfs and btrfs " +
			"the copy shares all blocks: it is a snapshot"},
	{Name: DiskFail, On: Disk, Needs: NeedsDisks, Lasts: true, Mode: Storage, Help: "every request fails with an error"},
	ofDisk(DiskError, "requests fail with --errno", "errno"),
	ofDisk(DiskFull, "writes fail because no space is left"),
	ofDisk(DiskSlow, "requests take --delay longer", "delay"),
	ofDisk(DiskHang, "requests wait until the fault is reverted"),
	damaging(ofDisk(DiskCorrupt, "reads return wrong bytes (--ops write: wrong bytes are stored)"),
		func(f spec.Fault) bool { return slices.Contains(f.Ops, "write") }),
	damaging(ofDisk(DiskTorn, "only a part of a write reaches the disk, but the write is acknowledged"), func(spec.Fault) bool { return true }),
	ofDisk(DiskLie, "flushes are acknowledged but do nothing"),
}

// kinds are the kinds of the fault filesystem that the actions on disks are.
var kinds = map[string]string{DiskFail: faultfs.Dead, DiskError: faultfs.Error, DiskFull: faultfs.Full,
	DiskSlow: faultfs.Slow, DiskHang: faultfs.Hang, DiskCorrupt: faultfs.Corrupt, DiskTorn: faultfs.Torn,
	DiskLie: faultfs.Lie}

// ofDisk is an action that the fault filesystem implements as one of its kinds of faults.
func ofDisk(name, help string, takes ...string) Action {
	a := Action{Name: name, On: Disk, Needs: NeedsFaults, Help: help, Takes: append(takes, "ops", "probability"), Lasts: true,
		Mode: Storage, Check: func(f spec.Fault) error { return refused(OfDisk(f).Check()) }}
	if name == DiskSlow {
		a.Mode = Late
	}
	return a
}

func damaging(a Action, when func(spec.Fault) bool) Action {
	a.Damages = when
	return a
}

// OfDisk is a fault as one of the fault filesystem. It has no time limit, because the supervisor of a lab keeps that.
func OfDisk(f spec.Fault) faultfs.Fault {
	return faultfs.Fault{Kind: kinds[f.Action.Name], Ops: f.Ops, Errno: f.Errno, Delay: f.Delay.Std(),
		Probability: float64(f.Probability), Seed: f.Seed}
}

// CutOf is a loss of power as the fault filesystem does it.
func CutOf(f spec.Fault) faultfs.PowerCut {
	return faultfs.PowerCut{Keep: float64(f.Keep), Seed: f.Seed}
}

// refused makes an error of the fault filesystem one of a request.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return Refuse("%s", err)
}

func directed(f spec.Fault) error {
	if slices.Contains([]string{"", Both, In, Out}, f.Direction) {
		return nil
	}
	return Refuse("the direction %q is not valid: use both, in or out", f.Direction)
}

func needsCores(f spec.Fault) error {
	if f.Cores < leastCores {
		return Refuse("%s needs a number of cores, at least %v: --cores 0.5", Throttle, leastCores)
	}
	return nil
}

// leastCores is the smallest quota of a control group in cores: 1 ms in 100 ms.
const leastCores = 0.01

func needsRate(f spec.Fault) error {
	if f.Rate == 0 {
		return Refuse("%s needs a rate in bytes per second: --rate 1MB", Slow)
	}
	return nil
}
