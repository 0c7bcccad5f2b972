package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Ceiling is the highest rate of the clients of this machine, the result of `plimsoll calibrate`. The client may be the
// limit of a run near it.
type Ceiling struct {
	Measured time.Time                `json:"measured"`
	Tool     string                   `json:"tool"`  // version of plimsoll
	CPU      string                   `json:"cpu"`   // model
	Cores    float64                  `json:"cores"` // the client may use
	Clients  map[string]ClientCeiling `json:"clients"`
}

// ClientCeiling is the ceiling of one client.
type ClientCeiling struct {
	PerOperation float64 `json:"cpu_per_operation_ns"` // processor time, user and system
	Reached      float64 `json:"reached_per_second"`   // while the responder used the same machine
	Rate         float64 `json:"ceiling_per_second"`   // of a client alone on the machine: cores by PerOperation
}

// Rate returns the ceiling of a client in operations per second, 0 if it is unknown.
func (c *Ceiling) Rate(client string) float64 {
	if c == nil {
		return 0
	}
	return c.Clients[client].Rate
}

const ceilingFile = "calibration.json"

// ReadCeiling returns the calibration in home, nil if there is none or it is of another processor or number of cores.
func ReadCeiling(home, cpu string, cores float64) (*Ceiling, error) {
	b, err := safeopen.ReadFile(home, ceilingFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the calibration: %w", err)
	}
	var c Ceiling
	if err := safeopen.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("the calibration in %s is damaged (%v). Run plimsoll calibrate again",
			filepath.Join(home, ceilingFile), err)
	}
	if c.CPU != cpu || c.Cores != cores {
		return nil, nil
	}
	return &c, nil
}

// Write stores the calibration in home.
func (c *Ceiling) Write(home string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err = os.MkdirAll(home, 0o755); err == nil {
		err = replace.File(filepath.Join(home, ceilingFile), append(b, '\n'), 0o644, false)
	}
	if err != nil {
		return fmt.Errorf("cannot store the calibration: %w", err)
	}
	return nil
}
