package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Lab is a running lab, as far as it can be looked at.
type Lab interface {
	// Describe says how it stands; deep asks its servers for roles, lag and settings.
	Describe(ctx context.Context, deep bool) (record.Lab, error)
	// Usage is what its hosts used up to now.
	Usage(ctx context.Context) ([]record.LabUsage, error)
	// EventsSince returns what happened after the event with a number, 0 for all.
	EventsSince(ctx context.Context, seq int64) ([]record.LabEvent, error)
}

// lab is a lab as a source of many: its hosts and its members.
type lab struct {
	name  string
	lab   Lab
	seq   int64
	rates rates
}

// NewLab returns the hosts of a lab as sources called "host:LAB/HOST", its members that are behind as
// "member:LAB/MEMBER", and what happens in it as events. One call asks for all hosts.
func NewLab(name string, l Lab) Source { return &lab{name: name, lab: l} }

// Close implements [Source]. The lab belongs to whoever opened it.
func (l *lab) Close() error { return nil }

// Look implements [Source].
func (l *lab) Look(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, lookAtMost)
	defer cancel()
	var r Reading
	err := errors.Join(l.hosts(ctx, &r), l.members(ctx, &r), l.events(ctx, &r))
	if err != nil {
		return r, fmt.Errorf("lab %s: %w", l.name, err)
	}
	return r, nil
}

// hosts adds what each host uses.
func (l *lab) hosts(ctx context.Context, r *Reading) error {
	list, err := l.lab.Usage(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	l.rates.begin()
	for _, u := range list {
		values := map[string]float64{"memory.resident": float64(u.Memory)}
		rate := func(name string, total float64) { // one that never grew is not counted on this host
			if total == 0 {
				return
			}
			if grown, ok := l.rates.add(u.Host+"/"+name, total); ok && l.rates.seconds(now) > 0 {
				values[name] = grown / l.rates.seconds(now)
			}
		}
		rate("cpu.used", u.CPUSeconds)
		rate("cpu.throttled", u.ThrottledSeconds)
		rate("disk.read_bytes", float64(u.ReadBytes))
		rate("disk.write_bytes", float64(u.WriteBytes))
		rate("disk.reads", float64(u.Reads))
		rate("disk.writes", float64(u.Writes))
		rate("network.received", float64(u.Received))
		rate("network.sent", float64(u.Sent))
		r.Others = append(r.Others, Reading{Source: "host:" + l.name + "/" + u.Host, Values: values})
	}
	l.rates.end(now)
	return nil
}

// members adds how far members are behind, as far as that is known without asking them.
func (l *lab) members(ctx context.Context, r *Reading) error {
	d, err := l.lab.Describe(ctx, false)
	if err != nil {
		return err
	}
	for _, m := range d.Members {
		values := map[string]float64{}
		if m.LagSeconds != nil {
			values["replication.lag"] = *m.LagSeconds * 1e9
		}
		if m.LagBytes != nil {
			values["replication.lag_bytes"] = float64(*m.LagBytes)
		}
		if len(values) > 0 {
			r.Others = append(r.Others, Reading{Source: "member:" + l.name + "/" + m.Name, Values: values})
		}
	}
	return nil
}

// events adds what happened since the last look. How things are brought up is no event of a run.
func (l *lab) events(ctx context.Context, r *Reading) error {
	list, err := l.lab.EventsSince(ctx, l.seq)
	if err != nil {
		return err
	}
	for _, e := range list {
		l.seq = max(l.seq, e.Seq)
		if e.Kind != "progress" {
			r.Events = append(r.Events, Event{Time: e.Time, Kind: e.Kind, Text: e.Text, Data: e.Data})
		}
	}
	return nil
}
