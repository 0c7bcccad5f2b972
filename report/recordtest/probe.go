package recordtest

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Probe says what a record of a probe of storage is to look like: a disk whose flushes take a millisecond and grow with
// the clients, and that lies.
type Probe struct {
	// Name replaces all names that users choose.
	Name string
}

func (o Probe) Write(dir string) (*record.Probe, error) {
	if o.Name == "" {
		o.Name = "/data"
	}
	w, err := record.CreateProbe(dir, &record.Probe{Specification: record.ProbeSpec{Directory: o.Name},
		Head: record.Head{Started: Started, Command: []string{"plimsoll", "disk", o.Name}}})
	if err != nil {
		return nil, err
	}
	if err := o.steps(w.Probe); err != nil {
		return nil, err
	}
	first := len(w.Probe.Steps) - 2
	for i := range int64(30) {
		for k := range 2 {
			bytes := int64(90 << 20)
			if i > 14 {
				bytes = 30 << 20
			}
			x := record.ProbeSecond{Step: first + k, At: i * second, Length: second, Bytes: bytes, Operations: 100, P50: ms,
				P99: 2*ms + i*ms/10, Checkpoint: i%10 > 6}
			if x.Checkpoint {
				x.P99 *= 6
			}
			if err := w.Second(x); err != nil {
				return nil, err
			}
		}
	}
	return w.Probe, w.Finish(record.Complete, "", Started.Add(10*time.Minute))
}

// flushes is a histogram of flushes around a time, with a tail.
func flushes(around int64) *measure.Histogram {
	h := measure.NewHistogram()
	for i := range int64(20_000) {
		x := around + i%97*around/300
		if i%250 == 0 {
			x += around * (i % 7)
		}
		h.Record(x)
	}
	return h
}

func (o Probe) steps(p *record.Probe) error {
	add := func(s record.ProbeStep, mean int64) error {
		h := flushes(mean)
		text, err := h.Encode()
		if err != nil {
			return err
		}
		s.Latency, s.Flush, s.Seconds, s.Operations = record.NewLatency(h), record.NewLatency(h), 10, 20_000
		s.Histograms = map[string]string{"flush": text}
		p.Steps = append(p.Steps, s)
		return nil
	}
	for i, n := range []int{1, 2, 4, 8, 16, 32} {
		for k, op := range []string{"read", "write", "mixed"} {
			rate := float64(4000*n) / (1 + float64(n*n)/200) / float64(k+1)
			if err := add(record.ProbeStep{Profile: spec.ProbeRandom, Operation: op, Threads: n, Rate: rate},
				int64(k+1)*int64(n)*ms/8); err != nil {
				return err
			}
		}
		model := ms * int64(min(i+1, 2))
		if err := add(record.ProbeStep{Profile: spec.ProbeJournal, Operation: "commit", Threads: 1, Clients: n,
			Rate: 900 * float64(n), Model: &record.ProbeModel{Latency: model}}, model+int64(n)*ms/40); err != nil {
			return err
		}
	}
	for _, profile := range []string{spec.ProbeCheckpoint, spec.ProbeSustained} {
		if err := add(record.ProbeStep{Profile: profile, Threads: 1, Rate: 900}, 2*ms); err != nil {
			return err
		}
	}
	one := record.NewLatency(flushes(ms))
	p.Journal = &record.ProbeJournalResult{Flush: one, Ceiling: 5000, Clients: 16, One: ms, Many: 2 * ms,
		Majority: &record.ProbeMajority{Members: 3, Needed: 2, One: ms, Many: 3 * ms, Decided: "peer 1"}}
	p.Checkpoint = &record.ProbeCheckpointResult{Checkpoints: 3, Inside: one, Outside: one}
	p.Sustained = &record.ProbeSustainedResult{Fell: true, At: 15 * second, Before: 90 << 20, Ceiling: 30 << 20, Like: "write cache"}
	p.Ramps = []record.ProbeRamp{{Operation: "read", Threads: 16, Rate: 28000}}
	p.Durability = []record.ProbeDurability{{Grade: "A", Verdict: record.Lying, Text: "no flush reached " + o.Name, Covers: "all", Blind: "nothing"}}
	p.Verdict = record.Lying
	return nil
}
