package fleet

import "github.com/plimsoll-bench/plimsoll/record"

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
