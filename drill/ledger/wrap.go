package ledger

import "github.com/plimsoll-bench/plimsoll/workload"

// Wrap returns w with a ledger of its writes.
func (l *Ledger) Wrap(w workload.Workload) workload.Workload { return w }

// Params say what the own workload does. Proportions are weights.
type Params struct {
	// Insert, Update and Read are the weights of the operations; all 0 stands for 60, 30 and 10.
	Insert, Update, Read float64
	// Payload is the size of the random part of each document in bytes; 0 stands for 200.
	Payload int
	// Collection defaults to "plimsoll_ledger".
	Collection string
}

// Workload returns the own workload of the ledger.
func (l *Ledger) Workload(p Params) (workload.Workload, error) { return nil, nil }
