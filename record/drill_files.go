package record

import "github.com/plimsoll-bench/plimsoll/spec"

// The names of what the record of a drill holds.
const (
	DrillFile = "drill.json"
	RoundsDir = "rounds"
)

// DrillWriter writes drill.json and, as long as the drill goes on, status.json. Each repetition is the record of a
// run below it.
type DrillWriter struct{ *Store[*Drill] }

// CreateDrill begins the record of a drill in a directory that holds none.
func CreateDrill(dir string, asked spec.Drill) (*DrillWriter, error) {
	s, err := Create[*Drill](dir, asked)
	return &DrillWriter{s}, err
}

func (d *Drill) complete(_ string, held bool) error {
	if d.Status == Running && !held {
		d.killed()
	}
	return nil
}

// killed completes the record of a drill whose process was killed.
func (d *Drill) killed() {
	d.Status = Killed
	why := "the drill was killed before its audit. A watchdog reverts its faults when their time is over: see plimsoll platform status"
	if _, lab := spec.LabOf(d.Specification.Run.Target); lab {
		why = "the drill was killed before its audit. The lab reverts its faults when their time is over"
	}
	if d.Verdict != Violated {
		d.Verdict, d.Reasons = Unknown, append([]string{why}, d.Reasons...)
	}
	for i := range d.Rounds {
		if r := &d.Rounds[i]; r.Verdict == "" {
			r.Verdict, r.Reasons = Unknown, append(r.Reasons, why)
		}
	}
}
