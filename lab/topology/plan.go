package topology

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Plan decides which servers on which hosts a specification needs. It makes nothing, and what it refuses it refuses
// with the key and the alternative. It expects all defaults to be filled in.
func Plan(spec record.LabSpec) (Layout, error) {
	switch spec.Engine.Name {
	case engine.Mongod:
		return planMongo(spec)
	case engine.DocumentDB:
		return planDocumentDB(spec)
	case engine.None:
		return planBare(spec)
	}
	return Layout{}, unknownEngine(spec)
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

func unknownEngine(spec record.LabSpec) error {
	return fmt.Errorf("engine.name: %q is not one that a lab can start; it is mongod, documentdb or none", spec.Engine.Name)
}

// hostLimits are what the hosts of a role may use: own, where it says something, and what all hosts have.
func hostLimits(spec record.HostsSpec, own *record.HostLimits) host.Limits {
	l := host.Limits{Cores: spec.Cores, Memory: int64(spec.Memory), Network: int64(spec.Network)}
	if own != nil && own.Cores > 0 {
		l.Cores = own.Cores
	}
	if own != nil && own.Memory > 0 {
		l.Memory = int64(own.Memory)
	}
	return l
}
