package lab

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
)

const countersLimit = 10 * time.Second

func (s *supervisor) counters(ctx context.Context) (action.Counters, error) {
	ctx, cancel := context.WithTimeout(ctx, countersLimit)
	defer cancel()
	var c action.Counters
	layout, volumes := s.inventory.layout(), s.storage.all()
	for _, m := range layout.Members {
		if v := volumes[m.Name]; v != nil {
			disks, err := s.diskCounters(ctx, v)
			if err != nil {
				return c, err
			}
			c.Disks = append(c.Disks, disks...)
		}
	}
	c.Stopped = map[string]time.Duration{}
	for _, plan := range layout.Hosts {
		if u, err := s.inventory.host(plan.Name).Usage(); err == nil { // a host that is off has none
			c.Stopped[plan.Name] = time.Duration(u.ThrottledSeconds * float64(time.Second))
		}
		link, ok := s.inventory.host(plan.Name).(host.Link)
		if !ok {
			continue
		}
		seen, err := link.Traffic()
		if err != nil {
			return c, err
		}
		c.Links = append(c.Links, action.LinkCounters{Host: plan.Name, Seen: seen})
	}
	return c, nil
}

// diskCounters reads the counters of the disks of a volume. Plain disks have none.
func (s *supervisor) diskCounters(ctx context.Context, v volume.Volume) ([]action.DiskCounters, error) {
	var all []action.DiskCounters
	for _, d := range v.Describe(ctx, false).Disks {
		client, name, err := s.builder.faultDisk(v.Name(), d.Name)
		if err != nil {
			continue
		}
		stats, err := client.Stats(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, action.DiskCounters{Volume: v.Name(), Disk: d.Name, Host: d.Host, Stats: stats})
	}
	return all, nil
}
