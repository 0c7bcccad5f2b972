package workload

import "fmt"

// Share returns the part of w that one of several processes does: client, in [0, clients), of them. w must
// have been opened with the same numbers, which keep the documents that the processes insert apart.
//
// workers is how many streams all processes have together. Stream n of the part is stream n·clients + client
// of the whole, so the processes together do what one process with all streams would do, and no two of them
// do the same. What the streams of one process share (which keys were inserted last) is not shared between
// processes.
func Share(w Workload, client, clients, workers int) (Workload, error) {
	if c, ok := w.(*core); ok && c.p.Mode == Original && c.p.Insert > 0 && clients > 1 {
		return nil, fmt.Errorf("workload %s inserts the same keys in every process, as YCSB does, so %d of them would collide: "+
			"use its corrected form (--mode core), or one client", w.Name(), clients)
	}
	return &part{Workload: w, client: client, clients: clients, workers: workers}, nil
}

// part is what one of several processes does of a workload.
type part struct {
	Workload
	client, clients, workers int
}

// Stream implements [Workload].
func (p *part) Stream(worker, _ int) Stream {
	return p.Workload.Stream(worker*p.clients+p.client, p.workers)
}
