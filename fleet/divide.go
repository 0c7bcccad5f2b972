package fleet

import "github.com/plimsoll-bench/plimsoll/spec"

// divide returns the specification of one client. Worker k of all belongs to client k mod clients, so that ramps of
// workers are divided evenly. The pace stays, because it is that of one worker. The sum of Poisson processes is a
// Poisson process.
func divide(asked spec.Run, client, clients int) spec.Run {
	part := func(n spec.Count) spec.Count { return spec.Count(share(int64(n), client, clients)) }
	rate := func(r spec.Rate) spec.Rate { return r / spec.Rate(clients) }
	l := &asked.Load
	l.Clients, l.Place, l.Strict = 0, "", false
	l.Workers, l.Rate, l.Operations = part(l.Workers), rate(l.Rate), part(l.Operations)
	l.Stages = append([]spec.Stage(nil), l.Stages...)
	for i := range l.Stages {
		l.Stages[i].Workers, l.Stages[i].Rate = part(l.Stages[i].Workers), rate(l.Stages[i].Rate)
	}
	asked.LoadPhase = spec.LoadPhase{Skip: true, Batch: asked.LoadPhase.Batch, Parallel: 1} // the parent has loaded
	asked.Objectives = nil                                                                  // the parent checks them
	asked.Out = ""
	return asked
}

// share is the number of integers k with 0 ≤ k < n and k mod clients = client.
func share(n int64, client, clients int) int64 {
	return (n + int64(clients-1-client)) / int64(clients)
}
