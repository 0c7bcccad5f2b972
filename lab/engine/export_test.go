package engine

// For tests in package engine_test.
var (
	Alive     = alive
	StartTime = startTime
)
