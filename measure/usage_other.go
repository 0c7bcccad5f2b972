//go:build !unix

package measure

import "time"

// ProcessCPU returns 0: on this system the time used by the process is not read.
func ProcessCPU() time.Duration { return 0 }
