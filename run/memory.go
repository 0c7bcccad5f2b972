package run

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// checkMemory refuses more workers than half of this machine's memory can hold, because the kernel would kill the run
// without a message. A memory of 0 is unknown.
func checkMemory(asked spec.Run, memory int64) error {
	const workerBytes = 12 << 10 // buffers, samples and stack, measured with 20,000 workers on null: and null:tcp
	most := Streams(asked.Load)
	if memory == 0 || most*workerBytes <= memory/2 {
		return nil
	}
	return fmt.Errorf("load.workers: %s workers need at least %s, and this machine has %s of memory. Use at most %s workers, "+
		"or load from several machines", figure.Count(most), figure.Bytes(most*workerBytes), figure.Bytes(memory), figure.Count(memory/2/workerBytes))
}
