package lab

import (
	"context"
	"errors"
	"maps"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
)

// builder makes the parts of a lab. [labBuilder] makes real ones; tests bring their own.
type builder interface {
	plan(ctx context.Context) (Planned, error)
	ready(ctx context.Context, p Planned) error
	host(ctx context.Context, h topology.HostPlan) (host.Host, error)
	// volume makes the storage of a member on the disks of hosts, its own first.
	volume(ctx context.Context, member string, hosts []string) (volume.Volume, error)
	cluster(ctx context.Context, s topology.Site) (topology.Cluster, error)
	// diskPower takes the power of a host's disks away or gives it back.
	diskPower(ctx context.Context, host string, on bool) error
	// losePower takes the power of a host's disks away and discards all writes that were not flushed. It calls kill when
	// no write can reach the disks any more, to end the processes that use the volumes of members. Their filesystems are
	// unmounted then.
	losePower(ctx context.Context, host string, members []string, cut faultfs.PowerCut, kill func() error) error
	// faultDisk returns a client of the fault filesystem that serves a disk, and the disk's name there.
	faultDisk(volume, disk string) (*faultfs.Client, string, error)
	// close removes volumes and hosts.
	close(ctx context.Context) error
}

// labBuilder is the builder of real labs, from the packages below this one.
type labBuilder struct {
	dir      string
	order    order
	journal  *journal.Journal
	progress func(string)

	hosts   *host.Maker
	volumes *volume.Maker
}

func (r *labBuilder) plan(ctx context.Context) (Planned, error) {
	return Plan(ctx, r.order.Home, r.order.Spec)
}

func (r *labBuilder) ready(ctx context.Context, p Planned) error {
	var err error
	r.hosts, err = host.NewMaker(ctx, host.MakerOptions{Lab: p.Spec.Name, Dir: r.dir, Home: host.SharedHome(),
		Mode: p.Spec.Hosts.Mode, Journal: r.journal})
	if err != nil {
		return err
	}
	r.volumes, err = volume.NewMaker(volume.MakerOptions{Lab: p.Spec.Name, Dir: r.dir,
		Journal: r.journal, Policy: p.Spec.Storage, Layout: p.Storage,
		Faultfs: []string{r.order.Executable, "faultfs"}, Progress: r.progress})
	return err
}

func (r *labBuilder) host(ctx context.Context, h topology.HostPlan) (host.Host, error) {
	return r.hosts.Make(ctx, h.Name, h.Role, h.Limits)
}

func (r *labBuilder) volume(ctx context.Context, member string, hosts []string) (volume.Volume, error) {
	return r.volumes.Make(ctx, member, member, hosts)
}

func (r *labBuilder) cluster(ctx context.Context, s topology.Site) (topology.Cluster, error) {
	return topology.New(ctx, s)
}

func (r *labBuilder) diskPower(ctx context.Context, host string, on bool) error {
	return r.volumes.Power(ctx, host, on)
}

func (r *labBuilder) losePower(ctx context.Context, host string, members []string, cut faultfs.PowerCut,
	kill func() error) error {
	return r.volumes.LosePower(ctx, host, members, cut, kill)
}

func (r *labBuilder) faultDisk(volume, disk string) (*faultfs.Client, string, error) {
	return r.volumes.FaultDisk(volume, disk)
}

func (r *labBuilder) close(ctx context.Context) error {
	var err error
	if r.volumes != nil {
		err = r.volumes.Close(ctx)
	}
	if r.hosts != nil {
		err = errors.Join(err, r.hosts.Close(ctx))
	}
	return err
}

// Removers remove the resources of a lab, in any process, by the kinds of its journal.
func Removers() map[string]journal.Remover {
	all := map[string]journal.Remover{}
	maps.Copy(all, host.Removers())
	maps.Copy(all, volume.Removers())
	maps.Copy(all, engine.Removers())
	return all
}

// diskGroups are the hosts whose disks a member's volume may use: those of the same role, its own first.
func diskGroups(l topology.Layout, member string) []string {
	var own topology.HostPlan
	for _, m := range l.Members {
		if m.Name != member {
			continue
		}
		for _, h := range l.Hosts {
			if h.Name == m.Host {
				own = h
			}
		}
	}
	var groups, before []string
	for _, h := range l.Hosts {
		switch {
		case h.Name == own.Name || h.Role == own.Role && len(groups) > 0:
			groups = append(groups, h.Name)
		case h.Role == own.Role:
			before = append(before, h.Name)
		}
	}
	return append(groups, before...)
}
