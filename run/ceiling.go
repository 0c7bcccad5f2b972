package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Ceiling is what the client of this machine can do against a target that costs nothing: the result of
// `plimsoll calibrate`. A run that comes near it says more about the client than about its target.
type Ceiling struct {
	Measured time.Time                `json:"measured"`
	Tool     string                   `json:"tool"`  // version of plimsoll
	CPU      string                   `json:"cpu"`   // model
	Cores    float64                  `json:"cores"` // the client may use
	Clients  map[string]ClientCeiling `json:"clients"`
}

// ClientCeiling is the ceiling of one client.
type ClientCeiling struct {
	// PerOperation is processor time per operation in nanoseconds, user and system.
	PerOperation float64 `json:"cpu_per_operation_ns"`
	// Reached is the rate that was reached while the responder took its share of the same machine.
	Reached float64 `json:"reached_per_second"`
	// Rate is the most operations per second of a client that has the machine for itself: cores
	// divided by processor time per operation.
	Rate float64 `json:"ceiling_per_second"`
}

// Rate returns the ceiling of a client in operations per second, 0 if it is not known.
func (c *Ceiling) Rate(client string) float64 {
	if c == nil {
		return 0
	}
	return c.Clients[client].Rate
}

const ceilingFile = "calibration.json"

// ReadCeiling returns the calibration kept in home. It is nil if there is none, or if it was made for
// another processor or number of cores.
func ReadCeiling(home, cpu string, cores float64) (*Ceiling, error) {
	b, err := safeopen.ReadFile(home, ceilingFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	var c Ceiling
	if err := safeopen.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("the calibration in %s is damaged (%v): run plimsoll calibrate again", filepath.Join(home, ceilingFile), err)
	}
	if c.CPU != cpu || c.Cores != cores {
		return nil, nil
	}
	return &c, nil
}

// Write keeps the calibration in home.
func (c *Ceiling) Write(home string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(home, ceilingFile), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	return nil
}
