package embedded

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/store"
)

// syncs reports whether writes under c wait until the log is on disk; the package comment has the
// table.
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
		return fmt.Errorf("w:0 with j:true contradict each other: nobody can wait for the journal without an acknowledgement")
	}
	return nil
}
