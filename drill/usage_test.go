package drill

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// The load and the service are told apart, over all phases; without a service there is nothing of one.
func TestUsedBesideServers(t *testing.T) {
	phase := func(client, service float64) record.PhaseResult {
		p := record.PhaseResult{Client: record.ClientResult{CPUSeconds: client}}
		if service > 0 {
			p.Service = &record.ServiceResult{CPUSeconds: service}
		}
		return p
	}
	client, service := clientCPU(&record.Run{Phases: []record.PhaseResult{phase(1, 2), phase(0.5, 0.25), phase(3, 0)}})
	if client != 4.5 || service != 2.25 {
		t.Errorf("the load used %v s and the service %v s, want 4.5 and 2.25", client, service)
	}
}
