package lab

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
)

// fault is something that was broken and is not healed yet.
type fault struct {
	record.LabFault
	job   *action.Job
	asked string   // the target as it was named, which may be a role
	gone  []string // disks that were replaced since
	timer *time.Timer
}

// told is a fault in words and as the data of an event about its end, which began at a time.
func (x *fault) told(began time.Time) (string, map[string]string) {
	data := map[string]string{"action": x.Action, "target": x.Target, "id": strconv.Itoa(x.ID),
		"began": began.Format(time.RFC3339Nano)}
	if x.From == "" {
		return x.Action + " " + x.Target, data
	}
	data["from"] = x.From
	return x.Action + " " + x.Target + " from " + x.From, data
}

// inPlace are the faults of a lab that are not healed yet.
type inPlace struct {
	mu     sync.Mutex
	list   []*fault
	lastID int
}

// add lists a fault, gives it its number and drops those that it ended: a process that is killed is not paused any
// more. Where there is a limit, heal is called after it, unless the fault was removed.
func (p *inPlace) add(x *fault, limit time.Duration, heal func(*fault)) (ended []*fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastID++
	x.ID = p.lastID
	for _, f := range slices.Clone(p.list) {
		if x.ends(f) {
			ended = append(ended, f)
			p.drop(f)
		}
	}
	p.list = append(p.list, x)
	if limit > 0 {
		until := x.Since.Add(limit)
		x.Until = &until
		x.timer = time.AfterFunc(time.Until(until), func() { heal(x) })
	}
	return ended
}

// ends says whether a fault ended another one, because it is stronger and done to the same processes.
func (x *fault) ends(f *fault) bool {
	j, fate := x.job, f.job.Action.Fate
	if j.Action.Fate < action.End {
		return false
	}
	same := j.Node != nil && f.job.Node == j.Node
	return fate == action.Stand && (same || j.Node == nil && f.job.Host == j.Host) || fate == action.End && same
}

// drop takes a fault off the list; p.mu is held.
func (p *inPlace) drop(x *fault) {
	p.list = slices.DeleteFunc(p.list, func(f *fault) bool { return f == x })
	if x.timer != nil {
		x.timer.Stop()
	}
}

// remove takes faults off the list.
func (p *inPlace) remove(faults ...*fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range faults {
		p.drop(x)
	}
}

// all are the faults that are in place and fit, the oldest first.
func (p *inPlace) all(fits func(*fault) bool) (found []*fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.list {
		if fits(x) {
			found = append(found, x)
		}
	}
	return found
}

// records are all of them as the lab tells of them.
func (p *inPlace) records() (list []record.LabFault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.list {
		list = append(list, x.LabFault)
	}
	return list
}

func anyFault(*fault) bool { return true }

// has says whether a fault is in place still.
func (p *inPlace) has(x *fault) bool {
	return len(p.all(func(f *fault) bool { return f == x })) > 0
}

// keepsDown says whether a fault of its own keeps a member down.
func (p *inPlace) keepsDown(member string) bool {
	return len(p.all(func(f *fault) bool { return f.isOf(member) && f.job.Action.Fate == action.End })) > 0
}

// isOf says whether a fault is done to a member itself.
func (x *fault) isOf(member string) bool { return x.job.Node != nil && x.job.Node.Name() == member }

// strikes says whether disks of a volume may not answer because of a fault; "" is any volume.
func (p *inPlace) strikes(volume string) bool {
	return len(p.all(func(x *fault) bool {
		v := x.job.Volume
		return x.job.Action.Fate == action.NoPower || v != nil && (volume == "" || v.Name() == volume)
	})) > 0
}

// replaced notes that disks of a volume were replaced, and drops and returns the faults that ended with that: one
// that is done to all disks of a volume ends with the last of them.
func (p *inPlace) replaced(volume string, disks map[string]bool) (over []*fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range slices.Clone(p.list) {
		if x.job.Volume == nil || x.job.Volume.Name() != volume {
			continue
		}
		x.gone = append(x.gone, slices.DeleteFunc(slices.Clone(x.job.Disks), func(d string) bool { return !disks[d] })...)
		if !slices.ContainsFunc(x.job.Disks, func(d string) bool { return !slices.Contains(x.gone, d) }) {
			over = append(over, x)
			p.drop(x)
		}
	}
	return over
}

// meant finds the faults that are to be healed.
func (p *inPlace) meant(what Healing) ([]*fault, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*fault
	target := presentName(what.Target)
	for _, x := range p.list {
		onHost := x.job.Node == nil && x.job.Volume == nil && x.job.Host.Name() == target
		byTarget := target != "" && (x.Target == target || x.asked == target || onHost)
		if what.All || what.ID != 0 && x.ID == what.ID || byTarget {
			found = append(found, x)
		}
	}
	if len(found) > 0 || what.All {
		return found, nil
	}
	if len(p.list) == 0 {
		return nil, refuse("nothing is broken in this lab")
	}
	var list string
	for _, x := range p.list {
		list += fmt.Sprintf("\n  %d  %s %s", x.ID, x.Action, x.Target)
	}
	if what.ID != 0 {
		return nil, refuse("there is no fault %d; these are in place:%s", what.ID, list)
	}
	return nil, refuse("nothing is broken on %q; these faults are in place:%s", what.Target, list)
}
