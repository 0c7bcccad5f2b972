package lab

import (
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// trait is what there is to know of an action.
type trait struct {
	onHost bool   // members and roles mean the host they stand on
	lasts  bool   // it has to be healed
	disk   string // what the fault filesystem calls it; of disk-fail it is not asked
}

// actions are all there are.
var actions = map[string]trait{
	PowerOff: {onHost: true, lasts: true}, PowerLoss: {onHost: true, lasts: true}, Cut: {onHost: true, lasts: true},
	Slow: {onHost: true, lasts: true}, Pause: {lasts: true}, Kill: {lasts: true}, Stop: {lasts: true}, StepDown: {},
	DiskFail: {lasts: true}, DiskError: {lasts: true, disk: faultfs.Error}, DiskFull: {lasts: true, disk: faultfs.Full},
	DiskSlow: {lasts: true, disk: faultfs.Slow}, DiskHang: {lasts: true, disk: faultfs.Hang},
	DiskCorrupt: {lasts: true, disk: faultfs.Corrupt}, DiskTorn: {lasts: true, disk: faultfs.Torn}, DiskLie: {lasts: true, disk: faultfs.Lie},
}

// Actions are the names of everything that can be done to a lab, in the order in which they are explained.
func Actions() []string {
	return []string{PowerOff, PowerLoss, Cut, Slow, Pause, Kill, Stop, StepDown,
		DiskFail, DiskError, DiskFull, DiskSlow, DiskHang, DiskCorrupt, DiskTorn, DiskLie}
}

// onDisk says whether an action is done to disks.
func onDisk(action string) bool { return action == DiskFail || actions[action].disk != "" }

// Check says what is wrong with a fault, as far as that can be known without the lab.
func (f Fault) Check() error {
	kind, ok := actions[f.Action]
	switch {
	case !ok:
		return refuse("%q is not something that can be done to a lab%s (known: %s)", f.Action,
			nearest.DidYouMean(f.Action, Actions()), strings.Join(Actions(), ", "))
	case f.Limit < 0 || f.For < 0 || f.Rate < 0 || f.Delay < 0:
		return refuse("a time and a rate cannot be negative")
	case (f.From != "" || f.Direction != "") && f.Action != Cut:
		return refuse("only a cut has another side and a direction")
	case f.Direction != "" && f.Direction != host.Both && f.Direction != host.In && f.Direction != host.Out:
		return refuse("the direction %q is not both, in or out", f.Direction)
	case f.Action == Slow && f.Rate == 0:
		return refuse("%s needs a rate in bytes per second: --rate 1MB", Slow)
	case f.Action != Slow && f.Rate > 0:
		return refuse("only %s takes a rate", Slow)
	case f.Keep != 0 && f.Action != PowerLoss:
		return refuse("only a %s keeps a share of what was not flushed", PowerLoss)
	case f.Action == PowerLoss:
		if err := f.cut().Check(); err != nil {
			return refuse("%s", err)
		}
	case kind.disk != "":
		if err := f.ofDisk().Check(); err != nil {
			return refuse("%s", err)
		}
		return nil
	}
	if f.Errno != "" || f.Delay != 0 || len(f.Ops) > 0 || f.Probability != 0 {
		return refuse("an error, a delay, requests and a probability are for faults of disks: %s", strings.Join(Actions()[slices.Index(Actions(), DiskError):], ", "))
	}
	return nil
}

// ofDisk is the fault as the fault filesystem knows it. The supervisor keeps its limit.
func (f Fault) ofDisk() faultfs.Fault {
	return faultfs.Fault{Kind: actions[f.Action].disk, Ops: f.Ops, Errno: f.Errno, Delay: f.Delay, Probability: f.Probability, Seed: f.Seed}
}

// cut is what a power loss does to disks.
func (f Fault) cut() faultfs.PowerCut { return faultfs.PowerCut{Keep: f.Keep, Seed: f.Seed} }
