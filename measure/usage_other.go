//go:build !unix

package measure

import "time"

// processCPU returns 0: on this system the time used by the process is not read.
func processCPU() time.Duration { return 0 }
