package spec

// The profiles of a probe.
const (
	ProbeRandom     = "random"
	ProbeJournal    = "journal"
	ProbeCheckpoint = "checkpoint"
	ProbeSustained  = "sustained"
)
