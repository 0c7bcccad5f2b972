// Package quickstart keeps the garbage collector from running while the program starts. What libraries keep for
// themselves when they are initialised is more than the first collection waits for, and none of it is garbage: a
// collection would take a quarter of the time of a short command. The command imports it for this effect.
package quickstart

import (
	"runtime/debug"
	"time"
)

const (
	// usual is the default of GOGC.
	usual = 100
	// meanwhile lets the heap grow to 16 MiB before the first collection. The default is 4 MiB.
	meanwhile = 400
	// over is when the program has started. A command that measures is still preparing then.
	over = 200 * time.Millisecond
)

func init() {
	if chosen := debug.SetGCPercent(meanwhile); chosen != usual { // by the user, with GOGC
		debug.SetGCPercent(chosen)
		return
	}
	time.AfterFunc(over, func() { debug.SetGCPercent(usual) })
}
