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

// builder makes the parts of a lab. [rooms] makes real ones; tests bring their own.
type builder interface {
	plan(ctx context.Context) (Planned, error)
	ready(ctx context.Context, p Planned) error
	host(ctx context.Context, h topology.HostPlan) (host.Host, error)
	// volume makes the storage of a member on the disks of hosts, its own first.
	volume(ctx context.Context, member string, hosts []string) (volume.Volume, error)
	cluster(s topology.Site) (topology.Cluster, error)
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

// rooms is the builder of real labs, from the packages below this one.
type rooms struct {
	dir      string
	order    order
	journal  *journal.Journal
	progress func(string)

	ground *host.Ground
	maker  *volume.Maker
}

func (r *rooms) plan(ctx context.Context) (Planned, error) {
	return Plan(ctx, r.order.Home, r.order.Spec)
}

func (r *rooms) ready(ctx context.Context, p Planned) error {
	var err error
	r.ground, err = host.NewGround(ctx, host.GroundOptions{Lab: p.Spec.Name, Dir: r.dir, Home: r.order.Home,
		Mode: p.Spec.Hosts.Mode, Journal: r.journal})
	if err != nil {
		return err
	}
	r.maker, err = volume.NewMaker(volume.MakerOptions{Lab: p.Spec.Name, Dir: r.dir, Home: r.order.Home,
		Journal: r.journal, Policy: p.Spec.Storage, Layout: p.Storage,
		Faultfs: []string{r.order.Executable, "faultfs"}, Progress: r.progress})
	return err
}

func (r *rooms) host(ctx context.Context, h topology.HostPlan) (host.Host, error) {
	return r.ground.Make(ctx, h.Name, h.Role, h.Limits)
}

func (r *rooms) volume(ctx context.Context, member string, hosts []string) (volume.Volume, error) {
	return r.maker.Make(ctx, member, member, hosts)
}

func (r *rooms) cluster(s topology.Site) (topology.Cluster, error) { return topology.New(s) }

func (r *rooms) diskPower(ctx context.Context, host string, on bool) error {
	if on {
		return r.maker.HostOn(ctx, host)
	}
	return r.maker.HostOff(ctx, host)
}

func (r *rooms) losePower(ctx context.Context, host string, members []string, cut faultfs.PowerCut,
	kill func() error) error {
	return r.maker.LosePower(ctx, host, members, cut, kill)
}

func (r *rooms) faultDisk(volume, disk string) (*faultfs.Client, string, error) {
	return r.maker.FaultDisk(volume, disk)
}

func (r *rooms) close(ctx context.Context) error {
	var err error
	if r.maker != nil {
		err = r.maker.Close(ctx)
	}
	if r.ground != nil {
		err = errors.Join(err, r.ground.Close(ctx))
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
