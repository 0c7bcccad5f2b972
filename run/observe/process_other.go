//go:build !linux

package observe

import "time"

func localServer(int, time.Duration) bool { return false }

func runDelays(int) map[string]time.Duration { return nil }
