package record

import "fmt"

// maxSideTrials is the largest number of trials of a side of a comparison.
const maxSideTrials = 1 << 20

// maxDims is the largest number of operation classes and of outcomes of a run. Plimsoll has about ten and twenty, and
// each interval has a count for each pair.
const maxDims = 256

// check bounds the dimensions of the intervals.
func (r *Run) check() error {
	if len(r.Classes) > maxDims || len(r.Outcomes) > maxDims {
		return fmt.Errorf("it has %d operation classes and %d outcomes", len(r.Classes), len(r.Outcomes))
	}
	return nil
}

// check bounds what the printers of a comparison allocate from.
func (r *ComparisonReport) check() error {
	for _, s := range r.Sides {
		if s.N < 0 || s.N > maxSideTrials {
			return fmt.Errorf("the side %.80q has %d trials", s.Name, s.N)
		}
	}
	return nil
}

// check checks that a second of a probe belongs to a step.
func (s *ProbeSecond) check() error {
	if s.Step < 0 || s.Length < 0 || s.At < 0 {
		return fmt.Errorf("a second has step %d, %d ns after its start, of %d ns", s.Step, s.At, s.Length)
	}
	return nil
}
