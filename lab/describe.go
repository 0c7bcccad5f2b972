package lab

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
)

// describeLimit bounds the queries to servers and volumes. Some may hang because of a fault.
const describeLimit = 10 * time.Second

func (s *supervisor) describe(ctx context.Context, depth topology.Depth) record.Lab {
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	s.mu.Lock()
	l := s.lab
	s.mu.Unlock()
	cluster, layout, volumes := s.inventory.cluster(), s.inventory.layout(), s.storage.all()
	l.Faults = s.inPlace.records()
	l.Hosts, l.Members, l.Volumes = []record.LabHost{}, []record.LabMember{}, nil
	var all sync.WaitGroup
	if cluster != nil {
		all.Go(func() {
			l.Members = cluster.Describe(ctx, depth)
			if depth == topology.Settings {
				l.Sharding, _ = cluster.Sharding(ctx) // absent if it is not known
			}
		})
		l.URI, l.URIs = redactedURIs(cluster.URIs())
	}
	all.Go(func() { l.Volumes = describeVolumes(ctx, depth > topology.Known, layout, volumes) })
	all.Wait()
	l.Hosts = s.describeHosts(layout, l.Members)
	for i, m := range l.Members {
		if why := s.roster.cause(m.Name); why != "" && m.State == "dead" {
			l.Members[i].Problem = why
		}
	}
	l.Notes = append(slices.Clip(l.Notes), s.memory.notes()...)
	explainGateways(&l)
	return l
}

// explainGateways adds the reason to gateways that do not answer because there is no primary: its host is paused or has
// no power, or the primary itself is paused or dead.
func explainGateways(l *record.Lab) {
	if l.State != stateUp {
		return
	}
	states := map[string]string{}
	for _, h := range l.Hosts {
		states[h.Name] = h.State
	}
	var reasons []string
	for _, m := range l.Members {
		if m.Role == "primary" || m.Role == "standalone" {
			return
		}
		if m.Kind != "postgres" {
			continue
		}
		switch {
		case states[m.Host] == host.Paused:
			reasons = append(reasons, m.Host+", the host of "+m.Name+", is paused")
		case states[m.Host] == host.Off:
			reasons = append(reasons, m.Host+", the host of "+m.Name+", has no power")
		case m.State == "paused" || m.State == "dead" || m.State == "stopped":
			reasons = append(reasons, m.Name+" is "+m.State)
		}
	}
	if len(reasons) == 0 {
		return
	}
	for i, m := range l.Members {
		if m.Kind == "gateway" && m.Problem == "" {
			l.Members[i].Problem = "not answering because there is no primary: " + strings.Join(reasons, "; ")
		}
	}
}

func describeVolumes(ctx context.Context, deep bool, layout topology.Layout,
	volumes map[string]volume.Volume) []record.LabVolume {
	var found []record.LabVolume
	for _, m := range layout.Members {
		if v := volumes[m.Name]; v != nil {
			d := v.Describe(ctx, deep)
			if d.Layout.Backend == volume.Directory { // it shares its filesystem with everything else
				d.Capacity, d.Used = 0, 0
				if deep {
					d.Used = bytesIn(ctx, d.Mount)
				}
			}
			found = append(found, d)
		}
	}
	return found
}

func (s *supervisor) describeHosts(layout topology.Layout, members []record.LabMember) []record.LabHost {
	hosts := []record.LabHost{}
	for _, plan := range layout.Hosts {
		h := s.inventory.host(plan.Name)
		if h == nil {
			continue
		}
		hosts = append(hosts, describeHost(h, members))
	}
	return hosts
}

func describeHost(h host.Host, members []record.LabMember) record.LabHost {
	limits := h.Limits()
	d := record.LabHost{Name: h.Name(), Role: h.Role(), Mode: h.Mode(), Address: h.Address(), State: h.State(),
		CutFrom: h.Cuts(), Cores: limits.Cores, Memory: limits.Memory, Network: limits.Network}
	for _, m := range members {
		if m.Host == d.Name {
			d.Members = append(d.Members, m.Name)
		}
	}
	return d
}

// addresses are the URIs with credentials.
func (s *supervisor) addresses() (map[string]string, error) {
	cluster := s.inventory.running()
	if cluster == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, refuse("the lab is %s and has no address for clients yet", s.lab.State)
	}
	return cluster.URIs(), nil
}

func (s *supervisor) usage() ([]record.LabUsage, error) {
	all := []record.LabUsage{}
	for _, plan := range s.inventory.layout().Hosts {
		if h := s.inventory.host(plan.Name); h != nil {
			u, err := h.Usage()
			if err != nil {
				return nil, err
			}
			all = append(all, u)
		}
	}
	return all, nil
}

func redactedURIs(uris map[string]string) (main string, others map[string]string) {
	for level, uri := range uris {
		if level == "" {
			main = Redact(uri)
			continue
		}
		if others == nil {
			others = map[string]string{}
		}
		others[level] = Redact(uri)
	}
	return main, others
}

// Redact removes the user and the password from an address.
func Redact(uri string) string {
	a, err := mongouri.Parse(uri)
	if err != nil {
		return uri
	}
	a.User = ""
	return a.String()
}
