package run

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// workerBytes is what a worker takes of this machine's memory at least: buffers, samples and the stack. It was measured
// with 20,000 workers on null: and null:tcp.
const workerBytes = 12 << 10

// checkMemory refuses more workers than this machine has memory for: the kernel would end the run without a word. Half
// of the memory is left to everything else. A memory of 0 is not known.
func checkMemory(asked spec.Run, memory int64) error {
	most := int64(asked.Load.Workers)
	for _, s := range asked.Load.Stages {
		most = max(most, int64(s.Workers))
	}
	if memory == 0 || most*workerBytes <= memory/2 {
		return nil
	}
	return fmt.Errorf("load.workers: %s workers take at least %s, and this machine has %s of memory: use at most %s, or load from several machines",
		figure.Count(most), figure.Bytes(most*workerBytes), figure.Bytes(memory), figure.Count(memory/2/workerBytes))
}
