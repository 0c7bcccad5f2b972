// Package quickstart keeps the garbage collector from running while the program starts. What libraries keep for
// themselves when they are initialised is more than the first collection waits for, and none of it is garbage: a
// collection would take a quarter of the time of a short command. Package main imports it for this effect.
package quickstart

import (
	"os"
	"runtime/debug"
	"time"
)

const (
	// percent lets the heap grow to 16 MiB before the first collection. The default is 4 MiB.
	percent = 400
	// over is when the program has started. A command that measures is still preparing then.
	over = 200 * time.Millisecond
)

func init() {
	if os.Getenv("GOGC") != "" {
		return // the user has chosen
	}
	usual := debug.SetGCPercent(percent)
	time.AfterFunc(over, func() { debug.SetGCPercent(usual) })
}
