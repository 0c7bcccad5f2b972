package topology

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Plan decides which servers on which hosts a specification needs. It makes nothing, and what it refuses it refuses
// with the key and the alternative. It expects all defaults to be filled in.
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

// New makes a cluster that does not run yet: [Cluster.Start] starts it.
func New(site Site) (Cluster, error) {
	switch site.Spec.Engine.Name {
	case engine.Mongod:
		return newMongo(context.Background(), site)
	case engine.DocumentDB:
		return newDocumentDB(site)
	case engine.None:
		return newBare(site)
	}
	return nil, unknownEngine(site.Spec)
}

func unknownEngine(asked spec.Lab) error {
	return fmt.Errorf("engine.name: %q is not one that a lab can start; it is mongod, documentdb or none", asked.Engine.Name)
}

// hostLimits are what the hosts of a role may use: own, where it says something, and what all hosts have.
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
