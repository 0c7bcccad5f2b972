//go:build !unix

package main

import "os"

// markSignals are the signals that mark a moment: there is none here but a signal that never comes, because none at all
// would mean all of them.
func markSignals() []os.Signal { return []os.Signal{os.Kill} }
