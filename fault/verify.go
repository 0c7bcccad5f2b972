package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lookEvery is how long Verify waits between two looks.
const lookEvery = 50 * time.Millisecond

// errNotDone says that there is nothing to verify yet.
var errNotDone = errors.New("the fault was not injected")

// Verify implements [Injector].
func (i *injector) Verify(ctx context.Context) (Proof, error) {
	if i.done.Asked.IsZero() {
		return Proof{}, fmt.Errorf("%s: %w", i.fault.Text, errNotDone)
	}
	var last error
	for {
		evidence, err := i.witnessed(ctx)
		switch {
		case evidence != "":
			return Proof{Hit: true, Evidence: evidence}, nil
		case err == nil || ctx.Err() == nil:
			last = err
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-t.C:
			if ctx.Err() == nil {
				continue
			}
		case <-ctx.Done():
			t.Stop()
		}
		if last != nil {
			last = fmt.Errorf("%s: cannot look whether it hit: %w", i.fault.Text, last)
		}
		return Proof{Evidence: "nothing saw an effect of " + i.fault.Text + " on " + i.done.Target}, last
	}
}

// witnessed looks once. No evidence and no error is that nothing is to be seen yet.
func (i *injector) witnessed(ctx context.Context) (string, error) {
	switch i.fault.Action {
	case lab.Kill, lab.Stop:
		return i.ended()
	case lab.PowerOff:
		return i.poweredOff(ctx)
	case lab.PowerLoss:
		return i.lostPower(ctx)
	case lab.Pause:
		return i.stands(ctx)
	case lab.StepDown:
		return i.handedOver(ctx)
	case lab.Cut:
		return i.dropped(ctx)
	case lab.Slow:
		return i.delayed(ctx)
	}
	return i.felt(ctx)
}

// processes are those that the target had before, by their ids.
func (i *injector) processes() map[int]uint64 {
	found := map[int]uint64{}
	for _, m := range i.before.members(i.done.Target) {
		for _, pid := range m.PIDs {
			if born, ok := i.before.born[pid]; ok {
				found[pid] = born
			}
		}
	}
	return found
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return figure.Count(int64(n)) + " processes"
}

// ended sees that all processes of the target are gone.
func (i *injector) ended() (string, error) {
	before := i.processes()
	if len(before) == 0 {
		if !canSeeProcesses() {
			return "", errors.New("this system does not tell what processes there are")
		}
		return "", fmt.Errorf("%s had no processes before", i.done.Target)
	}
	var pids []string
	for pid, born := range before {
		if p, ok := processOf(pid); ok && p.born == born {
			return "", nil
		}
		pids = append(pids, fmt.Sprint(pid))
	}
	if len(pids) > 3 {
		pids = append(pids[:3], "…")
	}
	return fmt.Sprintf("%s of %s gone from the kernel's list: %s", processes(len(before)), i.done.Target, strings.Join(pids, ", ")), nil
}

// poweredOff sees that the processes of a host are gone and that nobody answers.
func (i *injector) poweredOff(ctx context.Context) (string, error) {
	gone, err := i.ended()
	if gone == "" {
		if err != nil && len(i.before.members(i.done.Target)) == 0 { // nothing stood on it
			return i.hostIsOff(ctx)
		}
		return "", err
	}
	for _, m := range i.before.members(i.done.Target) {
		if answer := probe(ctx, m); answer != answered {
			return fmt.Sprintf("%s; a connection to %s %s", gone, m.Address, answer), nil
		}
	}
	return "", nil
}

func (i *injector) hostIsOff(ctx context.Context) (string, error) {
	l, err := i.lab.Describe(ctx, false)
	for _, h := range l.Hosts {
		if h.Name == i.done.Target && h.State == host.Off {
			return "the lab says that " + h.Name + " is off; nothing stood on it", nil
		}
	}
	return "", err
}

// lostPower sees that besides the processes the disks lost their power, and how much.
func (i *injector) lostPower(ctx context.Context) (string, error) {
	gone, err := i.poweredOff(ctx)
	if gone == "" {
		return "", err
	}
	w, err := i.lab.Witness(ctx)
	if err != nil {
		return "", err
	}
	disks := 0
	var writes, bytes, kept int64
	for _, d := range w.Disks {
		if d.Host == i.done.Target {
			disks++
			writes, bytes, kept = writes+d.Stats.Undone, bytes+d.Stats.UndoneBytes, kept+d.Stats.KeptBytes
		}
	}
	if disks == 0 {
		return gone, nil
	}
	text := fmt.Sprintf("%s; %s undid %s that were not flushed (%s)", gone, figure.Plural(disks, "disk"), figure.Plural(int(writes), "write"), figure.Bytes(bytes))
	if kept > 0 {
		text += fmt.Sprintf(" and kept %s of them", figure.Bytes(kept))
	}
	return text, nil
}

// stands sees that processes do nothing any more: the kernel says so, or a connection hangs and they use no time.
func (i *injector) stands(ctx context.Context) (string, error) {
	before := i.processes()
	if len(before) == 0 {
		return "", fmt.Errorf("no process of %s can be seen", i.done.Target)
	}
	stopped := 0
	used := uint64(0)
	for pid, born := range before {
		p, ok := processOf(pid)
		if !ok || p.born != born {
			stopped++ // one that ended on the way
			continue
		}
		used += p.ticks
		if p.state == 'T' || p.state == 't' {
			stopped++
		}
	}
	if stopped == len(before) {
		return fmt.Sprintf("the kernel says that all %s of %s are stopped", processes(stopped), i.done.Target), nil
	}
	if !allHang(ctx, i.before.members(i.done.Target)) {
		return "", nil
	}
	after := uint64(0)
	for pid, born := range before {
		if p, ok := processOf(pid); ok && p.born == born {
			after += p.ticks
		}
	}
	if after > used {
		return "", nil
	}
	return fmt.Sprintf("connections to %s hang, and its processes use no time", i.done.Target), nil
}

// allHang asks all members at once.
func allHang(ctx context.Context, members []record.LabMember) bool {
	var answers atomic.Int64
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(func() {
			if probe(ctx, m) != hung {
				answers.Add(1)
			}
		})
	}
	all.Wait()
	return answers.Load() == 0
}

// handedOver sees that the role has moved on.
func (i *injector) handedOver(ctx context.Context) (string, error) {
	l, err := i.lab.Look(ctx)
	if err != nil {
		return "", err
	}
	var old record.LabMember
	for _, m := range i.before.lab.Members {
		if m.Name == i.done.Target {
			old = m
		}
	}
	for _, m := range l.Members {
		if m.Role == "primary" && m.Set == old.Set && (m.Name != old.Name || m.Term > old.Term) {
			return fmt.Sprintf("%s is the primary after %s (term %d after %d)", m.Name, old.Name, m.Term, old.Term), nil
		}
	}
	return "", nil
}

// link is what was counted at the link of a host.
func link(w lab.Witness, name string) host.Traffic {
	for _, l := range w.Links {
		if l.Host == name {
			return l.Seen
		}
	}
	return host.Traffic{}
}

// dropped sees packets that did not pass. It sends some itself, because an idle host may have none.
func (i *injector) dropped(ctx context.Context) (string, error) {
	answers := ""
	if i.fault.From == "" {
		if on := i.before.members(i.done.Target); len(on) > 0 {
			if a := probe(ctx, on[0]); a != answered {
				answers = fmt.Sprintf("; a connection to %s %s", on[0].Address, a)
			}
		}
	}
	w, err := i.lab.Witness(ctx)
	if err != nil {
		return "", err
	}
	if n := link(w, i.done.Target).Dropped; n > 0 { // the counters begin with the cut
		return fmt.Sprintf("the firewall of %s dropped %s%s", i.done.Target, figure.Plural(int(n), "packet"), answers), nil
	}
	return "", nil
}

// delayed sees packets that had to wait.
func (i *injector) delayed(ctx context.Context) (string, error) {
	w, err := i.lab.Witness(ctx)
	if err != nil {
		return "", err
	}
	n := link(w, i.done.Target).Delayed - link(i.before.witness, i.done.Target).Delayed
	if n <= 0 {
		return "", nil
	}
	return fmt.Sprintf("the link of %s held packets up %s", i.done.Target, figure.Plural(int(n), "time")), nil
}
