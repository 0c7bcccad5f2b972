package spec

// The profiles of a probe.
const (
	ProbeRandom     = "random"
	ProbeJournal    = "journal"
	ProbeCheckpoint = "checkpoint"
	ProbeSustained  = "sustained"
)

// How the files of a journal are written: by the time that a sync takes, the filesystem treats these differently.
const (
	// LogReserved files have their length from the beginning, and their blocks are reserved: WiredTiger.
	LogReserved = "reserved"
	// LogGrowing files become longer with each record, so a sync also writes their length: Pebble.
	LogGrowing = "growing"
	// LogOverwritten files were written before, and each sync writes whole pages of 8 KiB: PostgreSQL.
	LogOverwritten = "overwritten"
)
