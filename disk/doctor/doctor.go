// Package doctor compares a host and a server with MongoDB's recommendations. [Look] reads the host, [Running] proves
// that a server runs on it, [Check] returns findings. Package server reads the facts of the server. A server on another
// machine is judged only by its own answers. The doctor changes and measures nothing: measured effects come from the
// record of a probe.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

// Host has the facts of a machine. Empty strings and nil are unknown.
type Host struct {
	Storage *record.ProbeStorage // nil without a directory
	Kernel  string
	// HugePages and Defrag are the selected options, MaxPTEsNone is a number.
	HugePages, Defrag, MaxPTEsNone string
	Swappiness, ZoneReclaim        string
	Nodes                          int // of NUMA
	Files, Processes               uint64
	Clock                          string
	Governor                       string
	Overcommit, MaxMaps            string
	Swap                           int64
	KeepAlive                      string // seconds
}

// Process is the process of a server that is proven to run on the host.
type Process struct {
	PID              int64
	Files, Processes uint64 // soft limits
	// DBPath is its data directory, "" if this machine does not have that directory at the same path.
	DBPath string
}

// Input has the facts to judge. Host is nil if the server runs on another machine.
type Input struct {
	Host    *Host
	Server  *facts.Facts
	Process *Process // nil unless the server is proven to run on Host
	Probe   *record.Probe
	Now     time.Time // decides which releases are maintained
}

type check func(in Input) []record.DoctorFinding

// Check returns all findings, the most severe first.
func Check(in Input) []record.DoctorFinding {
	list := []record.DoctorFinding{}
	var checks []check
	if in.Host != nil {
		checks = append(checks, hugePages, swappiness, numa, limits, clock, kernel, governor, memoryMaps, overcommit,
			keepAlive)
		if in.Host.Storage != nil {
			checks = append(checks, filesystem, accessTimes, barriers, readAhead, scheduler, writeCache, layout, space, inMemory)
		}
	}
	if in.Server != nil {
		switch in.Server.Kind {
		case facts.FerretDB:
			checks = append(checks, gateway)
		case facts.Mongos:
			checks = append(checks, router, serverVersion, serverHost)
		default:
			checks = append(checks, serverCache, serverJournal, serverConcern, members, serverVersion, serverHost)
		}
		if in.Host == nil {
			checks = append(checks, otherMachine)
		}
		checks = append(checks, serverProblem)
	}
	if in.Probe != nil {
		checks = append(checks, probed)
	}
	for _, c := range checks {
		list = append(list, c(in)...)
	}
	slices.SortStableFunc(list, func(a, b record.DoctorFinding) int {
		return cmp.Compare(rank(b.Severity), rank(a.Severity))
	})
	return list
}

// ofMongod reports whether recommendations for mongod and WiredTiger apply.
func ofMongod(in Input) bool { return in.Server == nil || in.Server.Kind != facts.FerretDB }

// Worst returns the highest severity of a list.
func Worst(list []record.DoctorFinding) string {
	worst := record.DoctorGood
	for _, f := range list {
		if rank(f.Severity) > rank(worst) {
			worst = f.Severity
		}
	}
	return worst
}

func rank(severity string) int {
	return slices.Index([]string{record.DoctorGood, record.DoctorUnknown, record.DoctorAdvice, record.DoctorWarning,
		record.DoctorCritical}, severity)
}

// one makes a list of one finding. what is the actual state, should the recommended one.
func one(area, id, severity, what, should, why, how string) []record.DoctorFinding {
	f := record.DoctorFinding{ID: id, Area: area, Severity: severity, Is: what, Recommended: should, Why: why, How: how}
	if severity == record.DoctorGood {
		f.How = ""
	}
	return []record.DoctorFinding{f}
}

func unknown(area, id, should, why string) []record.DoctorFinding {
	return one(area, id, record.DoctorUnknown, "unknown", should, why, "")
}

// either returns good if a condition holds, else another severity.
func either(good bool, severity string) string {
	if good {
		return record.DoctorGood
	}
	return severity
}
