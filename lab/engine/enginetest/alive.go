package enginetest

import (
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// alive says whether there is a process with this id that has not ended. In the moment of a test ids are not used
// again.
func alive(pid int) bool { return process.Alive(pid, procid.Of(pid).Ticks) }
