package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Deployment is how to reach the servers of a deployment that is not a lab.
type Deployment struct {
	Address string // name of the deployment
	Open    Opener // opens the primary of a set, or a router
	// Member opens one server by its address. It fails if the deployment's address does not allow that.
	Member func(address string) (Opener, error)
	// Direct says that the address is that of one server, whatever its set calls its members: those names may lead
	// elsewhere.
	Direct bool
}

// mostMembers is how many servers are sampled. Sampling more would itself be a load.
const mostMembers = 48

// discoverWithin is the time limit of finding the servers of a deployment.
const discoverWithin = 10 * time.Second

// FollowDeployment samples the servers with data of a deployment and its loaded router, once per period. It finds them
// once. If that fails, it samples the primary or router only and adds a note.
func (w *Watch) FollowDeployment(period time.Duration, d Deployment) {
	w.firsts.Add(1) // until those of its servers are added
	w.group.Go(func() {
		defer w.firsts.Done()
		sources, err := d.sources(w.ctx)
		if w.ctx.Err() != nil {
			return
		}
		if err != nil {
			w.note(fmt.Sprintf("only %s is observed, not every member: %s", d.Address, store.OneLine(err.Error())))
		}
		w.Follow(period, sources...)
	})
}

// sources finds the servers, at least the loaded one.
func (d Deployment) sources(ctx context.Context) ([]Source, error) {
	whole := NewServer(d.Address, d.Open)
	sets, router, err := d.discover(ctx)
	if err != nil || len(sets) == 0 {
		return []Source{whole}, err
	}
	if d.Direct && !router {
		for _, members := range sets {
			if len(members) > 1 {
				err = errors.New("its address has directConnection=true")
			}
		}
		return []Source{whole}, err
	}
	var list []Source
	if router {
		list = append(list, whole)
	}
	hosts := newHosts()
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		set := &replicaReader{}
		for _, address := range sets[name] {
			if len(list) == mostMembers {
				return list, fmt.Errorf("the deployment has more than %d servers, and the first %d are observed", mostMembers, mostMembers)
			}
			open, err := d.Member(address)
			if err != nil {
				return []Source{whole}, err
			}
			list = append(list, &watched{open: open, address: address, status: newStatusReader(), replica: set, hosts: hosts,
				fixed: true})
		}
	}
	return list, nil
}

// discover returns the members with data, by set. A standalone has no set.
func (d Deployment) discover(ctx context.Context) (sets map[string][]string, router bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoverWithin)
	defer cancel()
	st, err := d.Open(ctx)
	if err != nil {
		return nil, false, nil // its source reports that
	}
	defer st.Close()
	c, ok := st.(server.Commander)
	if !ok {
		return nil, false, nil
	}
	id, err := server.Identify(ctx, c)
	if err != nil && len(id.Hello.Raw) == 0 {
		return nil, false, err
	}
	if server.Undescribed(id.Kind) {
		return nil, false, nil
	}
	return server.QuerySets(ctx, c, id)
}
