// Package doctor holds a host and a server against what MongoDB recommends. [Look] reads the host, [Check] judges; what
// the server says about itself is given by the caller. Nothing is changed and nothing is measured: effects come from
// the record of a probe, where there is one.
package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
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

// Server is what a server says about itself.
type Server struct {
	Version string // "8.0.4"
	// Engine is the storage engine; Journal says whether there is one, nil if it does not say.
	Engine  string
	Journal *bool
	// Cache is the size of the cache, Data the size of all documents and indexes in it, in bytes; 0 for unknown.
	Cache, Data int64
	// DefaultW is the default write concern, FCV the feature compatibility version.
	DefaultW, FCV string
	// Members of the replica set that keep data, 0 without one.
	Members int
	// DBPath is where it keeps its data, Local says that it runs on this machine.
	DBPath string
	Local  bool
	// MajorityJournal is writeConcernMajorityJournalDefault, nil if it does not say.
	MajorityJournal *bool
	// Gateway is set where it is no mongod, but speaks its protocol in front of another database: "FerretDB v2.7.0".
	// Backend is that database, as far as it says: "PostgreSQL 18.6, DocumentDB 1.0.0".
	Gateway, Backend string
	// Router says that it is a mongos, which keeps no data.
	Router bool
	// Problem is why it could not be asked for everything.
	Problem string
}

// Input is what there is to judge.
type Input struct {
	Host   *Host
	Server *Server
	Probe  *record.Probe
}

// check looks at one thing.
type check func(in Input) []record.DoctorFinding

// Check judges everything, the gravest first.
func Check(in Input) []record.DoctorFinding {
	list := []record.DoctorFinding{}
	var checks []check
	if in.Host != nil {
		checks = append(checks, hugePages, swappiness, numa, limits, clock, kernel, governor, memoryMaps, keepAlive)
		if in.Host.Storage != nil {
			checks = append(checks, filesystem, accessTimes, barriers, readAhead, scheduler, writeCache, layout, space, directIO)
		}
	}
	if in.Server != nil {
		switch {
		case in.Server.Gateway != "":
			checks = append(checks, gateway)
		case in.Server.Router:
			checks = append(checks, router, serverVersion)
		default:
			checks = append(checks, serverCache, serverJournal, serverConcern, serverVersion)
		}
		checks = append(checks, serverProblem)
	}
	if in.Probe != nil {
		checks = append(checks, probed)
	}
	for _, c := range checks {
		list = append(list, c(in)...)
	}
	slices.SortStableFunc(list, func(a, b record.DoctorFinding) int { return cmp.Compare(rank(b.Severity), rank(a.Severity)) })
	return list
}

// ofMongod says whether what is recommended for mongod and its storage engine applies: not where the server is known to
// be something else.
func ofMongod(in Input) bool { return in.Server == nil || in.Server.Gateway == "" }

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
	return slices.Index([]string{record.DoctorGood, record.DoctorUnknown, record.DoctorAdvice, record.DoctorWarning, record.DoctorCritical}, severity)
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

// major is the first number of a version, 0 if there is none.
func major(version string) int {
	var n int
	if _, err := fmt.Sscanf(version, "%d", &n); err != nil {
		return 0
	}
	return n
}
