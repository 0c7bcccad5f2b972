package main

import (
	"context"
	"slices"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/drill/isolation/isolationtest"
)

// isolationFamily gives histories of a simulated store to the judge of transactions, without a server.
func isolationFamily() family {
	f := family{name: "isolation", verdict: "`plimsoll drill --workload transactions`, the judge alone: the isolation " +
		"was *kept* or *violated*",
		parallel: 2, notFound: []string{
			"A value of an attempt that was aborted, if the client repeated the transaction and the repetition committed.",
			"A lost or half transaction whose registers were written without a read in between, by the transactions " +
				"alone: the ledger counts those.",
			"A stale snapshot that no other transaction and no order of sessions or of real time contradicts.",
		}}
	said := map[string]string{
		"G0":                 "two transactions write two documents in opposite orders",
		"G1a":                "a read returns a value of an aborted transaction",
		"G1b":                "a read returns a value that its transaction replaced",
		"G1c":                "two transactions read each other's write",
		"read-skew":          "a transaction sees one write of another one, and not the other write",
		"lost-update":        "two transactions replace the same version",
		"long-fork":          "two transactions see two writes in opposite orders",
		"non-repeatable":     "a transaction reads a document twice, with two answers",
		"internal":           "a transaction does not see its own write",
		"stale-in-session":   "a transaction misses the last commit of its session, and reads nothing else",
		"stale-in-real-time": "the first transaction of a new session misses a commit that was acknowledged before it began",
		"future":             "a read returns a value that is written after it has ended",
		"garbage":            "a read returns a value that no client wrote",
		"duplicate":          "one write is seen in two places",
		"torn":               "one write of an acknowledged transaction is missing at the end",
		"lost":               "an acknowledged transaction is missing at the end",
		"rolled-back":        "a read returns an acknowledged value that is missing at the end",
		"server-order":       "the times of the server contradict the order of two writes",
		"server-snapshot":    "a snapshot misses a write from before its time, or shows one from after it",
	}
	for _, p := range isolationtest.Plants {
		promise := isolation.StrongSnapshot
		f.rows = append(f.rows, row{name: p.Name, lie: said[p.Name], goal: everyOne, small: 6, full: 123,
			try: func(_ context.Context, t *trial) (answer, error) { return plantedTransaction(t, &p, promise) }})
	}
	for _, h := range []struct {
		name, honest, plant string
		promise             isolation.Promise
	}{
		{"clean", "strong snapshot isolation, with write skew and commits without an answer", "",
			isolation.StrongSnapshot},
		{"skew-at-read-committed", "read skew, where read committed is promised", "read-skew", isolation.ReadCommitted},
		{"lost-update-at-read-committed", "a lost update, where read committed is promised", "lost-update",
			isolation.ReadCommitted},
		{"stale-at-snapshot", "a stale snapshot in a session, where snapshot isolation without sessions is promised",
			"stale-in-session", isolation.Snapshot},
		{"stale-at-session", "a stale snapshot in real time, where sessions are promised", "stale-in-real-time",
			isolation.SessionSnapshot},
	} {
		full := 123
		if h.plant == "" {
			full = 600
		}
		f.rows = append(f.rows, row{name: h.name, honest: h.honest, goal: none, small: 6, full: full,
			try: func(_ context.Context, t *trial) (answer, error) {
				i := slices.IndexFunc(isolationtest.Plants, func(p isolationtest.Plant) bool { return p.Name == h.plant })
				if i < 0 {
					return judgeTransactions(t, simulated(t, false), h.promise), nil
				}
				return plantedTransaction(t, &isolationtest.Plants[i], h.promise)
			}})
	}
	return f
}

// simulated makes a history of 20, 1,000 or 50,000 transactions, one of the three in turn.
func simulated(t *trial, noSkew bool) *isolationtest.Simulation {
	size := []int{20, 1000, 50_000}[t.seed%3]
	if t.c.small {
		size = min(size, 1000)
	}
	return isolationtest.Simulate(isolationtest.Options{Seed: t.rand.Uint64(), Transactions: size, NoSkew: noSkew})
}

// plantedTransaction judges a history with a fault. Histories without a place for it are made again.
func plantedTransaction(t *trial, p *isolationtest.Plant, promise isolation.Promise) (answer, error) {
	for range 50 {
		if s := simulated(t, true); p.Into(s) {
			return judgeTransactions(t, s, promise), nil
		}
	}
	return notPlanted, nil
}

func judgeTransactions(t *trial, s *isolationtest.Simulation, promise isolation.Promise) answer {
	v := isolation.Check(&s.History, promise)
	for _, e := range v.Examples {
		if e.Forbidden {
			t.say("%+v", s.Words(e, 0))
		}
	}
	if v.Forbidden() > 0 {
		return accused
	}
	t.say("%d transactions: %v", len(s.Transactions), v.Counts)
	return cleared
}
