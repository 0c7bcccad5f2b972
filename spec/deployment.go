package spec

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Deployment is what `plimsoll size --simulate` simulates.
type Deployment struct {
	// Shards is how many sets there are, and Members how many members each of them has; 1 if absent.
	Shards  Count `json:"shards,omitempty" yaml:"shards,omitempty"`
	Members Count `json:"members,omitempty" yaml:"members,omitempty"`
	// Acknowledge is how many members have a durable write before it is acknowledged, the primary included. Absent, a
	// majority.
	Acknowledge Count `json:"acknowledge,omitempty" yaml:"acknowledge,omitempty"`
	// Slower is how many members of each set have the storage of the second probe. None of them is the primary.
	Slower Count `json:"slower,omitempty" yaml:"slower,omitempty"`
	// Routers: the load passes routers.
	Routers bool `json:"routers,omitempty" yaml:"routers,omitempty"`
	// Load is that of all shards together, which have equal parts of it. Absent, only failures are simulated.
	Load DeploymentLoad `json:"load,omitzero" yaml:"load,omitempty"`
	// Cache is that of each member, and Records how many documents of the calibrated workload each shard has. Absent, all
	// documents are in the cache.
	Cache   Size  `json:"cache,omitempty" yaml:"cache,omitempty"`
	Records Count `json:"records,omitempty" yaml:"records,omitempty"`
	// Failures is how many failures of each kind happen in Time, of random members at random times. The kinds are actions
	// of faults: kill, power-off, black-hole, …
	Failures map[string]Count `json:"failures,omitempty" yaml:"failures,omitempty"`
	// Election is the time without a primary after which a set of mongod elects another one. Absent, that of the drills.
	Election Duration `json:"election,omitempty" yaml:"election,omitempty"`
	// Time is the simulated time of failures, one day if absent.
	Time Duration `json:"time,omitempty" yaml:"time,omitempty"`
}

// DeploymentLoad is a closed load of Workers, or an open one of Rate with at most so many operations in progress.
type DeploymentLoad struct {
	Workers Count `json:"workers,omitempty" yaml:"workers,omitempty"`
	Rate    Rate  `json:"rate,omitempty" yaml:"rate,omitempty"`
}

// The most that a simulation may have.
const (
	maxDeployed = 100_000
	maxFailures = 1_000_000
)

// ReadDeployment reads a deployment in YAML (JSON is YAML), as strictly as [ReadRun], and completes it.
func ReadDeployment(r io.Reader) (Deployment, error) {
	d, err := ReadStrict[Deployment](r, "deployment")
	if err != nil {
		return d, err
	}
	if d.Shards == 0 {
		d.Shards = 1
	}
	if d.Members == 0 {
		d.Members = 1
	}
	if d.Acknowledge == 0 {
		d.Acknowledge = d.Members/2 + 1
	}
	if d.Time == 0 {
		d.Time = Duration(timeOfDay)
	}
	return d, d.check()
}

const timeOfDay = 24 * 3600 * 1e9

func (d *Deployment) check() error {
	sum := Count(0)
	for _, kind := range slices.Sorted(maps.Keys(d.Failures)) {
		n := d.Failures[kind]
		if n < 0 || n > maxFailures {
			return fmt.Errorf("deployment: failures.%s: %d are not between 0 and %d", kind, n, int64(maxFailures))
		}
		sum += n
	}
	switch {
	case d.Shards < 1 || d.Members < 1 || d.Members > 50 || d.Shards > maxDeployed/d.Members:
		return fmt.Errorf("deployment: %d shards of %d members: there can be 1 to 50 members, and %d in all shards together", d.Shards, d.Members, int64(maxDeployed))
	case d.Acknowledge < 1 || d.Acknowledge > d.Members:
		return fmt.Errorf("deployment: acknowledge: %d is not between 1 and members (%d)", d.Acknowledge, d.Members)
	case d.Slower < 0 || d.Slower > 0 && d.Slower >= d.Members:
		return fmt.Errorf("deployment: slower: %d is not between 0 and %d: the primary has the storage of the first probe", d.Slower, d.Members-1)
	case d.Time <= 0 || d.Time > 36_500*timeOfDay:
		return fmt.Errorf("deployment: time must be above 0, and at most 100 years")
	case d.Load.Workers < 0 || d.Load.Rate < 0 || d.Load.Rate > 0 && d.Load.Workers == 0:
		return fmt.Errorf("deployment: load needs workers. With a rate, these are the most operations in progress")
	case d.Load.Workers > 0 && d.Load.Workers < d.Shards:
		return fmt.Errorf("deployment: load: %d workers are fewer than the %d shards", d.Load.Workers, d.Shards)
	case d.Cache < 0 || d.Records < 0 || d.Election < 0 || (d.Cache > 0) != (d.Records > 0):
		return fmt.Errorf("deployment: cache and records are given together, and above 0")
	case d.Load.Workers == 0 && sum == 0:
		return fmt.Errorf("deployment: it has no load and no failures, so there is nothing to simulate")
	}
	return nil
}
