package record

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// StatusFile is the state of a running drill. It is replaced about once a second and removed when the drill has
// ended; drill.json has the result.
const StatusFile = "status.json"

// The stages of a round, in their order.
const (
	StagePrepare  = "prepare"  // the target is opened, the seed documents are written
	StageLoad     = "load"     // nothing is broken yet
	StageBroken   = "broken"   // a fault is in place
	StageHealing  = "healing"  // a fault is being undone
	StageHealed   = "healed"   // the load is running, and all faults are healed
	StageRecovery = "recovery" // the load is over, redundancy is waited for
	StageAudit    = "audit"    // everything is read back
)

// DrillStages are the stages of a round, in their order.
func DrillStages() []string {
	return []string{StagePrepare, StageLoad, StageBroken, StageHealing, StageHealed, StageRecovery, StageAudit}
}

// DrillStatus is status.json: the current state of a drill.
type DrillStatus struct {
	// Round is the number of the round that is under way, Rounds how many there are to be.
	Round  int `json:"round"`
	Rounds int `json:"rounds"`
	// Stages are those that this round has entered, in the order of time; the last one is where it is. One may come again:
	// there can be several faults.
	Stages []DrillStage `json:"stages"`
	// Writes is what the clients were told about their writes until now, as the answers say it: the ledger, which counts
	// each write of a batch, has the last word.
	Writes DrillWrites `json:"writes"`
	// Notes are what happened, the oldest first; of many, the last ones.
	Notes []DrillNote `json:"notes"`
}

// DrillStage is a stage that a round has entered.
type DrillStage struct {
	Stage string    `json:"stage"`
	At    time.Time `json:"at"`
}

// DrillWrites counts operations that write by what the client was told.
type DrillWrites struct {
	Acknowledged  int64 `json:"acknowledged"`
	NotApplied    int64 `json:"not_applied"`
	Indeterminate int64 `json:"indeterminate"`
}

// DrillNote is something that happened in a drill.
type DrillNote struct {
	At time.Time `json:"at"`
	// Kind is "fault", "heal", or empty.
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// Stage is where the round is, "" if it has not begun.
func (s *DrillStatus) Stage() DrillStage {
	if s == nil || len(s.Stages) == 0 {
		return DrillStage{}
	}
	return s.Stages[len(s.Stages)-1]
}

// Stand replaces status.json. Several goroutines may call it.
func (w *DrillWriter) Stand(s *DrillStatus) error {
	return writeFile(w.Store, StatusFile, s, false) // not synced, because it is useless after a crash
}

// Ended takes status.json away.
func (w *DrillWriter) Ended() { _ = os.Remove(filepath.Join(w.dir, StatusFile)) } // it may never have been there

// ReadStatus reads the state of a running drill, nil if there is none.
func ReadStatus(dir string) (*DrillStatus, error) {
	b, err := safeopen.ReadFile(dir, StatusFile, safeopen.MaxDocument)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of the drill in %s: %w", dir, cause(err))
	}
	var s DrillStatus
	if err := safeopen.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s in %s is damaged: %w", StatusFile, dir, err)
	}
	return &s, nil
}
