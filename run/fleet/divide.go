package fleet

import (
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
)

// MaxClients is how many load processes one run may have: each has connections, a record and a thread of
// the parent of its own.
const MaxClients = 256

// Check returns why a run with this specification cannot be done by several load processes, nil if it can
// or if it has only one.
func Check(spec record.RunSpec) error {
	n := int64(spec.Load.Clients)
	if n <= 1 {
		return nil
	}
	target, err := run.ParseTarget(spec.Target)
	switch {
	case err != nil:
		return err
	case n > MaxClients:
		return fmt.Errorf("load.clients: %d processes are more than the limit of %d", n, MaxClients)
	case target.Kind == "embedded":
		return fmt.Errorf("load.clients: %s belongs to one process at a time, so %d clients cannot share it: load a server, or use one client", target, n)
	case streams(spec) < n:
		return fmt.Errorf("load.clients: %d workers cannot be divided among %d clients: each needs at least one (--threads)", streams(spec), n)
	case spec.Load.Operations > 0 && int64(spec.Load.Operations) < n:
		return fmt.Errorf("load.clients: %d operations cannot be divided among %d clients", int64(spec.Load.Operations), n)
	case spec.Load.Open() && spec.Load.Arrivals == "constant":
		return errors.New("load.clients: constant arrivals of several clients would come in bursts of one from each: use poisson arrivals, or one client")
	}
	return nil
}

// streams is the most workers that there are at once.
func streams(spec record.RunSpec) int64 {
	n := int64(spec.Load.Workers)
	if !spec.Load.Open() {
		for _, s := range spec.Load.Stages {
			n = max(n, int64(s.Workers))
		}
	}
	return n
}

// divide returns the specification of one client. Worker k of the whole belongs to client k mod clients, so
// that ramps of workers stay divided evenly. The pace is that of a worker and stays. The parts of a Poisson
// process that is split at random are Poisson processes, and the other way round their sum is one.
func divide(spec record.RunSpec, client, clients int) record.RunSpec {
	part := func(n record.Count) record.Count { return record.Count(share(int64(n), client, clients)) }
	rate := func(r record.Rate) record.Rate { return r / record.Rate(clients) }
	l := &spec.Load
	l.Clients = 0
	l.Workers, l.Rate, l.Operations = part(l.Workers), rate(l.Rate), part(l.Operations)
	l.Stages = append([]record.StageSpec(nil), l.Stages...)
	for i := range l.Stages {
		l.Stages[i].Workers, l.Stages[i].Rate = part(l.Stages[i].Workers), rate(l.Stages[i].Rate)
	}
	spec.LoadPhase = record.LoadPhaseSpec{Skip: true, Batch: spec.LoadPhase.Batch, Parallel: 1} // the parent has loaded
	spec.Objectives = nil                                                                       // they are those of the whole
	spec.Out = ""
	return spec
}

// share is how many of the numbers 0 … n−1 are client modulo clients.
func share(n int64, client, clients int) int64 {
	return (n + int64(clients-1-client)) / int64(clients)
}
