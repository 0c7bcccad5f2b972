package recordtest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

func (o Run) samples(w *record.RunWriter, s int) error {
	if !o.Sampled {
		return nil
	}
	r := rand.New(rand.NewPCG(o.Seed, 1<<32+uint64(s)))
	about := func(x float64) float64 { return x * (1 + 0.05*r.NormFloat64()) }
	at := int64(time.Duration(s+1) * time.Second)
	checkpoint := 1 + 3*math.Exp(-float64(s%15)/2)
	return w.Samples(append(o.labSamples(s), []record.Sample{
		{At: at, Source: "host:client-1", Values: map[string]float64{
			"cpu.user": about(0.31), "cpu.system": about(0.12), "cpu.iowait": about(0.02), "cpu.busy": about(0.45), "cpu.used": about(3.6),
			"memory.used": about(9e9), "memory.available": about(25e9), "disk.nvme0n1.write_bytes": about(4e7) * checkpoint,
			"disk.nvme0n1.read_bytes": about(2e5), "disk.nvme0n1.utilisation": about(0.2), "net.eth0.received": about(2e6), "net.eth0.sent": about(8e6),
		}},
		{At: at, Source: "server:" + o.Name, Values: map[string]float64{
			"opcounters.query": about(o.Rate / 2), "opcounters.update": about(o.Rate / 2), "opcounters.insert": 0, "connections.current": 18,
			"cache.used": about(3e9), "cache.dirty": about(1e8) * checkpoint, "cache.max": 4e9, "checkpoint.running": math.Round(checkpoint / 4), "log.syncs": about(30),
			"cache.used_share": 0.75, "cache.dirty_share": 0.025 * checkpoint, "latency.writes": about(4e5), "queue.writers": checkpoint,
		}},
		{At: at, Source: "prometheus:array", Values: map[string]float64{`array_busy{instance="array.example:9100"}`: about(0.5)}},
	}...))
}
