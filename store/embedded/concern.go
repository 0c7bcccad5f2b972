package embedded

import (
	"errors"

	"github.com/plimsoll-bench/plimsoll/store"
)

// syncs reports whether writes with c wait until the log is on disk (see the table of the package comment).
func syncs(c store.Concern) bool {
	switch {
	case c.Unacknowledged():
		return false
	case c.Journal != nil:
		return *c.Journal
	}
	return c.W == "majority"
}

// checkConcern refuses what a server refuses too.
func checkConcern(c store.Concern) error {
	if c.Unacknowledged() && c.Journal != nil && *c.Journal {
		return errors.New("w:0 and j:true contradict each other: " +
			"a write without acknowledgement cannot wait for the journal")
	}
	return nil
}
