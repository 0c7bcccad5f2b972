package lab

import (
	"context"
	"maps"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
)

// Witness is what was counted of faults by those who felt them: the kernel and the disks. Who broke something looks
// here whether that had an effect.
type Witness struct {
	// Disks are those of the fault filesystem.
	Disks []DiskWitness `json:"disks,omitempty"`
	// Links are those of isolated hosts.
	Links []LinkWitness `json:"links,omitempty"`
}

// DiskWitness is one disk of the fault filesystem.
type DiskWitness struct {
	Volume string        `json:"volume"`
	Disk   string        `json:"disk"`
	Host   string        `json:"host"`
	Stats  faultfs.Stats `json:"stats"`
}

// LinkWitness is the link of one host.
type LinkWitness struct {
	Host string       `json:"host"`
	Seen host.Traffic `json:"seen"`
}

// witnessLimit bounds the questions for one witness.
const witnessLimit = 10 * time.Second

// witness asks all disks and links.
func (s *supervisor) witness(ctx context.Context) (Witness, error) {
	ctx, cancel := context.WithTimeout(ctx, witnessLimit)
	defer cancel()
	var w Witness
	s.mu.Lock()
	layout, volumes := s.planned.Layout, maps.Clone(s.volumes)
	s.mu.Unlock()
	for _, m := range layout.Members {
		if v := volumes[m.Name]; v != nil {
			disks, err := s.diskWitness(ctx, v)
			if err != nil {
				return w, err
			}
			w.Disks = append(w.Disks, disks...)
		}
	}
	for _, plan := range layout.Hosts {
		link, ok := s.hostNamed(plan.Name).(host.Link)
		if !ok {
			continue
		}
		seen, err := link.Traffic()
		if err != nil {
			return w, err
		}
		w.Links = append(w.Links, LinkWitness{Host: plan.Name, Seen: seen})
	}
	return w, nil
}

// diskWitness asks the disks of a volume; plain ones count nothing.
func (s *supervisor) diskWitness(ctx context.Context, v volume.Volume) ([]DiskWitness, error) {
	var all []DiskWitness
	for _, d := range v.Describe(ctx, false).Disks {
		client, name, err := s.builder.faultDisk(v.Name(), d.Name)
		if err != nil {
			continue
		}
		stats, err := client.Stats(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, DiskWitness{Volume: v.Name(), Disk: d.Name, Host: d.Host, Stats: stats})
	}
	return all, nil
}
