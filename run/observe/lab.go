package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Lab is a running lab.
type Lab interface {
	// Describe returns its state; deep includes roles, lag and settings from its servers.
	Describe(ctx context.Context, deep bool) (record.Lab, error)
	// Usage is the use of its hosts since their start.
	Usage(ctx context.Context) ([]record.LabUsage, error)
	// EventsSince returns the events after the one with this number, 0 for all.
	EventsSince(ctx context.Context, seq int64) ([]record.LabEvent, error)
}

type lab struct {
	name  string
	lab   Lab
	seq   int64
	rates rates
}

// NewLab returns the hosts of a lab as the sources "host:LAB/HOST", its members with lag as "member:LAB/MEMBER", and
// its events.
func NewLab(name string, l Lab) Source { return &lab{name: name, lab: l} }

// The caller of [NewLab] closes the lab.
func (l *lab) Close() error { return nil }

func (l *lab) Look(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleAtMost)
	defer cancel()
	var r Reading
	err := errors.Join(l.hosts(ctx, &r), l.members(ctx, &r), l.events(ctx, &r))
	if err != nil {
		return r, fmt.Errorf("lab %s: %w", l.name, err)
	}
	return r, nil
}

func (l *lab) hosts(ctx context.Context, r *Reading) error {
	list, err := l.lab.Usage(ctx)
	if err != nil {
		return err
	}
	l.rates.begin(time.Now())
	for _, u := range list {
		values := map[string]float64{"memory.resident": float64(u.Memory)}
		rate := func(name string, total float64) { // this host does not count it
			if total == 0 {
				return
			}
			if x, ok := l.rates.rate(u.Host+"/"+name, total); ok {
				values[name] = x
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
	l.rates.end()
	return nil
}

// members adds the replication lag of members, as far as the lab knows it.
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

// events adds the events since the last sample, without the progress of starting the lab.
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
