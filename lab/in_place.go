package lab

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
)

// injected is a fault that is not healed yet.
type injected struct {
	record.LabFault
	job *action.Job
	// requested is the target as it was named, which may be a role.
	requested string
	failed    bool     // its action failed, so perhaps only a part of it is in effect
	replaced  []string // disks
	timer     *time.Timer
}

// event returns the fault in words, and the data of an event about its injection or healing, which began at a time.
func (x *injected) event(began time.Time) (string, map[string]string) {
	data := map[string]string{"action": x.Action, "target": x.Target, "id": strconv.Itoa(x.ID),
		"began": began.Format(time.RFC3339Nano)}
	if x.From == "" {
		return x.Action + " " + x.Target, data
	}
	data["from"] = x.From
	return x.Action + " " + x.Target + " from " + x.From, data
}

// inPlace has the faults of a lab that are not healed yet.
type inPlace struct {
	mu     sync.Mutex
	list   []*injected
	lastID int
}

// add adds a fault, gives it its number, and drops and returns the faults that it replaced: a process that was killed
// is not paused any more. heal is called after limit, unless that is 0 or the fault was removed.
func (p *inPlace) add(x *injected, limit time.Duration, heal func(*injected)) (ended []*injected) {
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

// ends says whether a fault replaces another one, because it is stronger and has the same processes. One that failed
// may have changed nothing.
func (x *injected) ends(f *injected) bool {
	j, fate := x.job, f.job.Action.Fate
	if j.Action.Fate < fault.End || x.failed {
		return false
	}
	same := j.Node != nil && f.job.Node == j.Node
	return fate == fault.Paused && (same || j.Node == nil && f.job.Host == j.Host) || fate == fault.End && same
}

// drop removes a fault. The caller holds p.mu.
func (p *inPlace) drop(x *injected) {
	p.list = slices.DeleteFunc(p.list, func(f *injected) bool { return f == x })
	if x.timer != nil {
		x.timer.Stop()
	}
}

func (p *inPlace) remove(faults ...*injected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range faults {
		p.drop(x)
	}
}

// all are the faults that fit, the oldest first.
func (p *inPlace) all(fits func(*injected) bool) (found []*injected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.list {
		if fits(x) {
			found = append(found, x)
		}
	}
	return found
}

func (p *inPlace) records() (list []record.LabFault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.list {
		list = append(list, x.LabFault)
	}
	return list
}

func (p *inPlace) has(x *injected) bool {
	return len(p.all(func(f *injected) bool { return f == x })) > 0
}

// keepsDown says whether a fault of the member itself keeps it down.
func (p *inPlace) keepsDown(member string) bool {
	return len(p.all(func(f *injected) bool { return f.isOf(member) && f.job.Action.Fate == fault.End })) > 0
}

// isOf says whether the target is the member itself, and not its host or volume.
func (x *injected) isOf(member string) bool { return x.job.Node != nil && x.job.Node.Name() == member }

// affects says whether a fault may keep disks of a volume from answering; "" is any volume.
func (p *inPlace) affects(volume string) bool {
	return len(p.all(func(x *injected) bool {
		v := x.job.Volume
		return x.job.Action.Fate == fault.NoPower || v != nil && (volume == "" || v.Name() == volume)
	})) > 0
}

// replaceDisks notes that disks of a volume were replaced, and drops and returns the faults that ended with that. A
// fault of several disks ends when the last of them is replaced.
func (p *inPlace) replaceDisks(volume string, disks map[string]bool) (over []*injected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range slices.Clone(p.list) {
		if x.job.Volume == nil || x.job.Volume.Name() != volume {
			continue
		}
		left := false
		for _, d := range x.job.Disks {
			if disks[d] {
				x.replaced = append(x.replaced, d)
			}
			left = left || !slices.Contains(x.replaced, d)
		}
		if !left {
			over = append(over, x)
			p.drop(x)
		}
	}
	return over
}

// find finds the faults that a request for healing names.
func (p *inPlace) find(what Healing) ([]*injected, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*injected
	target := what.Target
	for _, x := range p.list {
		onHost := x.job.Node == nil && x.job.Volume == nil && x.job.Host.Name() == target
		byTarget := target != "" && (x.Target == target || x.requested == target || onHost)
		if what.All || what.ID != 0 && x.ID == what.ID || byTarget {
			found = append(found, x)
		}
	}
	if len(found) > 0 || what.All {
		return found, nil
	}
	if len(p.list) == 0 {
		return nil, refuse("this lab has no faults")
	}
	var list string
	for _, x := range p.list {
		list += fmt.Sprintf("\n  %d  %s %s", x.ID, x.Action, x.Target)
	}
	if what.ID != 0 {
		return nil, refuse("there is no fault %d. These faults are in place:%s", what.ID, list)
	}
	return nil, refuse("there is no fault on %q. These faults are in place:%s", what.Target, list)
}
