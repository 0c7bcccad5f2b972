package run

import (
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// MaxClients is how many load processes one run may have: each has connections, a record and a thread of
// the parent of its own.
const MaxClients = 256

// CheckClients returns why a run with this specification cannot be done by several load processes, nil if it can
// or if it has only one.
func CheckClients(asked spec.Run) error {
	n := int64(asked.Load.Clients)
	if n <= 1 {
		return nil
	}
	target, err := ParseTarget(asked.Target)
	switch {
	case err != nil:
		return err
	case n > MaxClients:
		return fmt.Errorf("load.clients: %d processes are more than the limit of %d", n, MaxClients)
	case target.Kind == "embedded":
		return fmt.Errorf("load.clients: %s belongs to one process at a time, so %d clients cannot share it: load a server, or use one client", target, n)
	case Streams(asked) < n:
		return fmt.Errorf("load.clients: %s cannot be divided among %d clients: each needs at least one (--threads)", figure.Plural(int(Streams(asked)), "worker"), n)
	case asked.Load.Operations > 0 && int64(asked.Load.Operations) < n:
		return fmt.Errorf("load.clients: %d operations cannot be divided among %d clients", int64(asked.Load.Operations), n)
	case asked.Load.Open() && asked.Load.Arrivals == "constant":
		return errors.New("load.clients: constant arrivals of several clients would come in bursts of one from each: use poisson arrivals, or one client")
	}
	return nil
}

// Streams is the most workers that there are at once in a run: each has a stream of operations.
func Streams(asked spec.Run) int64 {
	n := int64(asked.Load.Workers)
	if !asked.Load.Open() {
		for _, s := range asked.Load.Stages {
			n = max(n, int64(s.Workers))
		}
	}
	return n
}
