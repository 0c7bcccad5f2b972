// Package doctor compares a host and a server with what MongoDB recommends. [Look] reads the host, [Running] proves
// that a server runs on it, [Check] judges; what the server says about itself comes from the room server. Two machines
// are never mixed: a server on another machine is judged by its own words alone. Nothing is changed and nothing is
// measured: effects come from the record of a probe, where there is one.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

// Host is what was read of a machine. Empty texts and nil could not be found out.
type Host struct {
	Storage *record.ProbeStorage // nil without a directory
	Kernel  string
	// HugePages and Defrag are the chosen words, MaxPTEsNone a number.
	HugePages, Defrag, MaxPTEsNone string
	Swappiness, ZoneReclaim        string
	Nodes                          int // of NUMA
	Files, Processes               uint64
	Clock                          string
	Governor                       string
	Overcommit, MaxMaps            string
	Memory                         int64
	Swap                           int64
	KeepAlive                      string // seconds
}

// Process is a server that is proven to run on the host that was read, with the limits of its process.
type Process struct {
	PID              int64
	Files, Processes uint64 // soft limits
	// DBPath is where it keeps its data, "" if this machine does not have that directory under the same name.
	DBPath string
}

// Input is what there is to judge. Host is the machine that was looked at, and is nil where the server runs on another.
type Input struct {
	Host    *Host
	Server  *facts.Facts
	Process *Process // nil unless the server is proven to run on Host
	Probe   *record.Probe
	Now     time.Time // for what is still maintained
}

// check looks at one thing.
type check func(in Input) []record.DoctorFinding

// Check judges everything, the gravest first.
func Check(in Input) []record.DoctorFinding {
	list := []record.DoctorFinding{}
	var checks []check
	if in.Host != nil {
		checks = append(checks, hugePages, swappiness, numa, limits, clock, kernel, governor, memoryMaps, overcommit,
			keepAlive)
		if in.Host.Storage != nil {
			checks = append(checks, filesystem, accessTimes, barriers, readAhead, scheduler, writeCache, layout, space, directIO)
		}
	}
	if in.Server != nil {
		switch in.Server.Kind {
		case facts.FerretDB:
			checks = append(checks, gateway)
		case facts.Mongos:
			checks = append(checks, router, serverVersion, serverHost)
		default:
			checks = append(checks, serverCache, serverJournal, serverConcern, serverVersion, serverHost)
		}
		if in.Host == nil {
			checks = append(checks, elsewhere)
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

// ofMongod says whether what is recommended for mongod and its storage engine applies: not where the server is known to
// be something else.
func ofMongod(in Input) bool { return in.Server == nil || in.Server.Kind != facts.FerretDB }

// Worst is the gravest severity of a list.
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

// one makes a list of one finding. what says how things are, should how they should be.
func one(area, id, severity, what, should, why, how string) []record.DoctorFinding {
	f := record.DoctorFinding{ID: id, Area: area, Severity: severity, Is: what, Recommended: should, Why: why, How: how}
	if severity == record.DoctorGood {
		f.How = ""
	}
	return []record.DoctorFinding{f}
}

// unknown says that something could not be found out.
func unknown(area, id, should, why string) []record.DoctorFinding {
	return one(area, id, record.DoctorUnknown, "could not be found out here", should, why, "")
}

// either is good where a condition holds, and something else where it does not.
func either(good bool, severity string) string {
	if good {
		return record.DoctorGood
	}
	return severity
}
