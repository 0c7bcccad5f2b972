// Package fault breaks something in a lab, looks whether that had an effect, and heals it.
//
// A fault is written as ACTION:TARGET ([Parse]). An [Injector] does it to a lab; the lab's supervisor knows until when,
// and heals it at that time by itself, also if the process that asked for it is gone. Whether it hit is judged by what
// the supervisor did not say: processes, connections, counters of the kernel and of the disks. Only labs are broken:
// what a person or another program does to any other target is marked by an injector of [External].
package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The manners of faults: what clients notice. Outages of different manners are not compared.
const (
	Crash     = "crash"      // connections break
	BlackHole = "black-hole" // connections hang
	Planned   = "planned"    // the server says that it goes
	Disk      = "disk"       // the server is there and its storage is not as it should be
	Slow      = "slow"       // everything works, later
	Unknown   = "unknown"    // others broke it
)

// manners of all actions. Those of a loss of power depend on the host: see [Injection.Manner].
var manners = map[string]string{
	lab.PowerOff: Crash, lab.PowerLoss: Crash, lab.Kill: Crash, lab.Cut: BlackHole, lab.Pause: BlackHole, lab.Stop: Planned,
	lab.StepDown: Planned, lab.Slow: Slow, lab.DiskSlow: Slow, lab.DiskFail: Disk, lab.DiskError: Disk, lab.DiskFull: Disk,
	lab.DiskHang: Disk, lab.DiskCorrupt: Disk, lab.DiskTorn: Disk, lab.DiskLie: Disk,
}

// Fault is one thing to break, checked as far as that can be done without the lab.
type Fault struct {
	lab.Fault
	// Text is ACTION:TARGET as it was written.
	Text string
	// Manner is what clients notice, as far as the action alone says it.
	Manner string
}

// Actions are the names of everything that can be broken, in the order in which they are explained.
func Actions() []string { return lab.Actions() }

// Parse reads ACTION:TARGET and its details, and refuses what makes no sense. When it happens is not looked at.
func Parse(s spec.DrillFault) (Fault, error) {
	action, target, _ := strings.Cut(s.Fault, ":")
	f := Fault{Text: s.Fault, Manner: manners[action]}
	if !slices.Contains(Actions(), action) {
		return f, fmt.Errorf("fault: %q: there is no action %q%s; write ACTION:TARGET, such as kill:primary (actions: %s)", s.Fault, action,
			nearest.DidYouMean(action, Actions()), strings.Join(Actions(), ", "))
	}
	if target == "" && action == lab.StepDown {
		target = "primary"
	}
	if target == "" {
		return f, fmt.Errorf("fault: %q: what is to be broken? Write %s:TARGET: a host, a member, a role such as primary, or MEMBER/DISK", s.Fault, action)
	}
	f.Fault = lab.Fault{Action: action, Target: target, Seed: s.Seed, From: s.From, Direction: host.Direction(s.Direction),
		Rate: int64(s.Rate), Delay: s.Delay.Std(), Errno: s.Errno, Ops: s.Ops, Probability: float64(s.Probability), Keep: float64(s.Keep), For: s.For.Std()}
	if err := f.Check(); err != nil {
		return f, fmt.Errorf("fault: %q: %w", s.Fault, err)
	}
	return f, nil
}

// IsDisk says whether an action is done to disks.
func IsDisk(action string) bool { return strings.HasPrefix(action, "disk-") }

// kindOf is what the counters of the fault filesystem call a fault of disks.
func kindOf(action string) string {
	if action == lab.DiskFail {
		return faultfs.Dead
	}
	return strings.TrimPrefix(action, "disk-")
}
