package topology

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Plan returns the hosts and members of a complete specification; see [spec.Lab.Complete]. It creates nothing. An error
// names the key of the specification and an alternative.
func Plan(asked spec.Lab) (Layout, error) {
	switch asked.Engine.Name {
	case engine.Mongod:
		return planMongo(asked)
	case engine.DocumentDB:
		return planDocumentDB(asked)
	case engine.None:
		return planBare(asked)
	}
	return Layout{}, unknownEngine(asked)
}

// New returns a cluster that does not run yet.
func New(ctx context.Context, site Site) (Cluster, error) {
	switch site.Spec.Engine.Name {
	case engine.Mongod:
		return newMongo(ctx, site)
	case engine.DocumentDB:
		return newDocumentDB(site)
	case engine.None:
		return newBare(site)
	}
	return nil, unknownEngine(site.Spec)
}

func unknownEngine(asked spec.Lab) error {
	return fmt.Errorf("engine.name: a lab cannot start %q; use mongod, documentdb or none", asked.Engine.Name)
}

// hostLimits returns the limits of the hosts of a role. The role's own limits override those of all hosts.
func hostLimits(asked spec.Hosts, own *spec.HostLimits) host.Limits {
	l := host.Limits{Cores: asked.Cores, Memory: int64(asked.Memory), Network: int64(asked.Network)}
	if own != nil && own.Cores > 0 {
		l.Cores = own.Cores
	}
	if own != nil && own.Memory > 0 {
		l.Memory = int64(own.Memory)
	}
	return l
}
