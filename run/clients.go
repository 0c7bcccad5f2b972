package run

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// CheckClients returns why a run cannot be divided among its load processes, nil if it can or if it has only one.
func CheckClients(asked spec.Run) error {
	n := int64(asked.Load.Clients)
	if n <= 1 && asked.Load.Place == "" {
		return nil
	}
	target, err := ParseTarget(asked.Target)
	switch {
	case err != nil:
		return err
	case asked.Load.Place != "" && (target.Kind == "embedded" || target.Kind == "http"):
		return fmt.Errorf("load.place: agents load MongoDB only, not %s. Load it with processes on this machine, or use the address of a "+
			"MongoDB", target)
	case n <= 1:
		return nil
	case target.Kind == "embedded":
		return fmt.Errorf("load.clients: one process at a time can open %s, so %d clients cannot share it. Load a server, or use one client",
			target, n)
	case Streams(asked.Load) < n:
		return fmt.Errorf("load.clients: %s cannot be divided among %d clients. Each client needs at least one worker (--threads)",
			figure.Plural(int(Streams(asked.Load)), "worker"), n)
	case asked.Load.Operations > 0 && int64(asked.Load.Operations) < n:
		return fmt.Errorf("load.clients: %d operations cannot be divided among %d clients", int64(asked.Load.Operations), n)
	}
	return nil
}

// Streams is the largest number of workers at any time of a load. Each has a stream of operations.
func Streams(l spec.Load) int64 {
	n := int64(l.Workers)
	if !l.Open() {
		for _, s := range l.Stages {
			n = max(n, int64(s.Workers))
		}
	}
	return n
}
