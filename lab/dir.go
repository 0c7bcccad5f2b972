package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The directory of a lab, HOME/labs/NAME, is readable by the owner alone. Besides the files of the packages below:
//
//	order.json         the specification and options, written first
//	lab.json           the lab at its last change of state
//	supervisor.json    the identity of the supervisor's process
//	supervisor.lock    locked by the supervisor as long as it lives
//	supervisor.log     standard output and error of the supervisor, usually empty
//	events.ndjson      one event per line
//	journal.ndjson     the resources that were made, see package journal
//	socket             the supervisor's socket
//
// HOME/labs/.NAME.lock is locked by a process that creates or removes the directory.
const (
	orderFile      = "order.json"
	labFile        = "lab.json"
	supervisorFile = "supervisor.json"
	aliveFile      = "supervisor.lock"
	logFile        = "supervisor.log"
	eventsFile     = "events.ndjson"
	socketFile     = "socket"
)

func labsDir(home string) string { return filepath.Join(home, "labs") }

// Dir is the directory of a lab, whether or not there is one.
func Dir(home, name string) string { return filepath.Join(labsDir(home), name) }

func lockName(home, name string) string { return filepath.Join(labsDir(home), "."+name+".lock") }

// order is the job of a supervisor.
type order struct {
	Spec spec.Lab `json:"spec"`
	// Home is where engines are installed, Executable the program that also plays parts of the lab.
	Home       string    `json:"home"`
	Executable string    `json:"executable"`
	Keep       bool      `json:"keep,omitempty"`
	Began      time.Time `json:"began"`
	// Owner is the process that created the lab.
	Owner procid.ID `json:"owner"`
}

// ErrNoLab says that there is no lab of a name.
var ErrNoLab = errors.New("there is no such lab")

// ErrGone says that a lab's supervisor has ended, so that the lab can only be removed.
var ErrGone = errors.New("its supervisor has ended")

func noLab(home, name string) error {
	names, err := Names(home)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return fmt.Errorf("%w: %q. %s has no labs; create one with plimsoll lab up%s",
			ErrNoLab, name, home, LabsOfRoot(os.Geteuid()))
	}
	return fmt.Errorf("%w: %q%s (labs: %s%s)", ErrNoLab, name, nearest.DidYouMean(name, names),
		strings.Join(names, ", "), LabsOfRoot(os.Geteuid()))
}

// LabsOfRoot is a hint, for any user but root, about labs that root created; empty for root.
func LabsOfRoot(uid int) string {
	if uid == 0 {
		return ""
	}
	return "; labs of root are visible to root only"
}

// Names lists the labs of a home directory, also dead ones.
func Names(home string) ([]string, error) {
	entries, err := os.ReadDir(labsDir(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the labs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && spec.CheckLabName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// writeJSON replaces a file atomically; only the owner may read it.
func writeJSON(dir, name string, v any) error {
	return replace.JSON(filepath.Join(dir, name), v, false)
}

func readJSON(dir, name string, v any) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
