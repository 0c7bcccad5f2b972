package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

const server = "server"

func serverCache(in Input) []record.DoctorFinding {
	s := in.Server
	const why = "data that do not fit into the cache or the page cache are read from storage"
	const id = "cache-size"
	if s.Cache == 0 {
		return unknown(server, id, "half of the memory above 1 GiB", why)
	}
	is := figure.Bytes(s.Cache)
	severity := record.DoctorGood
	if memory := s.Host.Memory; memory > 0 {
		is += " of " + figure.Bytes(memory) + " memory"
		if memory < s.Host.Machine {
			is += " (the limit of its container or control group)"
		}
		if s.Cache > memory*8/10 {
			severity = record.DoctorWarning
		}
	}
	list := one(server, id, severity, is, "half of the memory above 1 GiB (the default), and never more than 80 % of the memory", why, "storage.wiredTiger.engineConfig.cacheSizeGB")
	if s.DataUnread != "" {
		list = append(list, unknown(server, "working-set", "the working set in memory", "cannot read the sizes of the databases ("+s.DataUnread+"); for a shard use the address of a router")...)
	}
	if s.Data > 0 {
		share := float64(s.Cache) / float64(s.Data)
		list = append(list, one(server, "working-set", either(share >= 1, record.DoctorAdvice),
			fmt.Sprintf("%s of data and indexes, of which %s fits into the cache", figure.Bytes(s.Data), figure.Percent(min(1, share))),
			"the working set in memory", why, "use more memory, more shards, or storage with fast random reads (plimsoll disk --profile random)")...)
	}
	return list
}

func serverJournal(in Input) []record.DoctorFinding {
	const id, why = "journal", "without a journal a crash loses up to a minute of acknowledged writes"
	var list []record.DoctorFinding
	if in.Server.Journal == nil {
		list = unknown(server, id, "on", why)
	} else {
		list = one(server, id, either(*in.Server.Journal, record.DoctorCritical), onOff(*in.Server.Journal), "on", why, "remove storage.journal.enabled: false")
	}
	if m := in.Server.Concerns.MajorityJournal; m != nil {
		list = append(list, one(server, "majority-journal", either(*m, record.DoctorCritical), onOff(*m), "on", "without journals a power cut of several members loses writes acknowledged with w:majority",
			"writeConcernMajorityJournalDefault: true in the configuration of the replica set")...)
	}
	return list
}

// gateway reports the known facts of a database behind FerretDB, and where to find the others.
func gateway(in Input) []record.DoctorFinding {
	s := in.Server
	const untold = "unknown, because the gateway does not report it"
	is := "FerretDB " + s.Release
	if s.Backend != "" {
		is += " in front of " + s.Backend
	}
	list := one(server, "engine", record.DoctorGood, is+" with the protocol of MongoDB "+s.Version.Text, "", "recommendations for mongod and WiredTiger do not apply", "")
	if s.Data > 0 {
		list = append(list, one(server, "data-size", record.DoctorGood, figure.Bytes(s.Data), "", "all databases together", "")...)
	}
	list = append(list, one(server, "cache-size", record.DoctorUnknown, untold, "shared_buffers of a quarter of the memory", "data that do not fit into it or the page cache are read from storage", "SHOW shared_buffers in PostgreSQL")...)
	list = append(list, one(server, "journal", record.DoctorUnknown, untold, "fsync and full_page_writes on", "without them a power cut loses acknowledged writes, or damages the database", "SHOW fsync, and SHOW full_page_writes, in PostgreSQL")...)
	return append(list, one(server, "default-write-concern", record.DoctorAdvice, "the gateway ignores write concerns", "a synchronous_commit with the required durability",
		"the durability of a write depends on PostgreSQL, not on the client's write concern", "ALTER ROLE … SET synchronous_commit, or one gateway for each level as in plimsoll lab")...)
}

// router reports that the members of the shards must be checked separately.
func router(in Input) []record.DoctorFinding {
	s := in.Server
	list := one(server, "router", record.DoctorUnknown, "a mongos, which has no data", "a check of each member of each shard", "cache, journal and replica set belong to the members", "run plimsoll doctor --uri with the address of a member, on its machine")
	if s.Data > 0 {
		list = append(list, one(server, "data-size", record.DoctorGood, figure.Bytes(s.Data)+" of data and indexes on all shards, before compression", "", "all databases together", "")...)
	}
	return append(list, concern(s.Concerns)...)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func serverConcern(in Input) []record.DoctorFinding {
	s := in.Server
	if s.WithData <= 1 {
		return one(server, "replica-set", record.DoctorAdvice, "no replica set", "a replica set of three members with data", "there is no failover when its machine fails", "rs.initiate(), and two more members")
	}
	return concern(s.Concerns)
}

// concern checks the default write concern in effect, explicit or implicit.
func concern(c facts.Concerns) []record.DoctorFinding {
	const id, why = "default-write-concern", "a write acknowledged by one member is lost with that member"
	const how = `db.adminCommand({setDefaultRWConcern: 1, defaultWriteConcern: {w: "majority"}})`
	if c.W == "" {
		return unknown(server, id, "majority", "the server did not answer: "+c.Problem)
	}
	is := c.W
	if c.Source == facts.Implicit {
		is += " (not set; this is the default of the release and its members)"
	}
	return one(server, id, either(strings.Contains(c.W, "majority"), record.DoctorWarning), is, "majority", why, how)
}

// serverVersion checks the release against the vendor's dates and advisories.
func serverVersion(in Input) []record.DoctorFinding {
	s, v := in.Server, in.Server.Version
	if !v.Known() {
		return unknown(server, "version", "a maintained release", "vulnerabilities are fixed only in maintained releases")
	}
	is := s.Vendor + " " + s.Release
	should := "the newest patch of " + strings.Join(facts.MaintainedSeries(in.Now), ", ")
	const why, how = "vulnerabilities and bugs are fixed only in maintained releases", "upgrade one major release at a time"
	maintained, known := v.Maintained(in.Now)
	var list []record.DoctorFinding
	release, _ := v.Release()
	switch {
	case !known:
		list = one(server, "version", record.DoctorUnknown, is+", which this version of plimsoll does not know", should, "its table of releases is of "+facts.TableDate, "")
	case maintained:
		list = one(server, "version", record.DoctorGood, is+", maintained until "+release.Until, should, why, "")
	default:
		list = one(server, "version", record.DoctorWarning, is+", which MongoDB stopped maintaining on "+release.Until, should, why, how)
	}
	if open := v.Advisories(); len(open) > 0 {
		var ids []string
		for _, a := range open {
			ids = append(ids, a.ID)
		}
		next := "a newer series, because no patch of " + v.Series() + " fixes all of them"
		if fixed, ok := v.RepairedIn(); ok {
			next = fixed.Text + " or later, preferably the newest patch of " + v.Series()
		}
		list = append(list, one(server, "vulnerabilities", record.DoctorWarning, s.Release+" has "+strings.Join(ids, ", "),
			next, open[0].ID+": "+open[0].What, "install that patch; members of a set can be replaced one after the other")...)
	}
	if s.FCV != "" {
		list = append(list, one(server, "feature-compatibility", either(s.FCV == v.Series(), record.DoctorAdvice), s.FCV+" on "+v.Text, "that of the server", "features and formats of the new version are off", "db.adminCommand({setFeatureCompatibilityVersion: …}) when a downgrade is no longer needed")...)
	}
	return list
}

// serverHost checks the server's answers about its machine and its start.
func serverHost(in Input) []record.DoctorFinding {
	s := in.Server
	var list []record.DoctorFinding
	if b := s.PerCPU; b != nil && s.Kind == facts.Mongod {
		is := "the allocator has no caches per processor"
		if *b {
			is = "the allocator has caches per processor"
		}
		list = append(list, one(server, "per-cpu-caches", either(*b, record.DoctorWarning), is, "usingPerCPUCaches: true",
			"without restartable sequences MongoDB 8.0 allocates memory through one shared cache, which costs throughput", "start mongod with GLIBC_TUNABLES=glibc.pthread.rseq=0, as its packages do, on kernel 4.18 or later")...)
	}
	if in.Host == nil { // else these were read of the machine itself
		if s.Host.OS == "" || s.Host.OS == "Linux" {
			list = append(list, judgeKernel(s.Host.Kernel)...)
		}
		if n := s.Host.MaxFiles; n > 0 {
			list = append(list, one(system, "limits", either(n >= 64000, record.DoctorWarning), figure.Count(n)+" open files (the server's own soft limit)", "at least 64,000",
				"mongod refuses connections beyond 80 % of it", "LimitNOFILE=64000 in the unit of the server, or ulimit -n 64000 before its start")...)
		}
	}
	const most = 12
	for i, w := range s.Warnings {
		if i == most {
			break
		}
		if judged(in, w) || slices.Contains(s.Warnings[:i], w) {
			continue // another finding says it
		}
		list = append(list, one(server, "startup-warning", record.DoctorWarning, w, "a start without this warning", "the server logged this warning at its start", "")...)
	}
	return list
}

// ofHost are words of startup warnings about what the doctor reads of the machine itself.
var ofHost = []string{"hugepage", "huge page", "rlimit", "max_map_count", "zone_reclaim", "numa", "swappiness", "xfs filesystem"}

// judged reports whether another finding has what a warning says.
func judged(in Input, warning string) bool {
	warning = strings.ToLower(warning)
	if in.Host == nil {
		return strings.Contains(warning, "rlimit") && in.Server.Host.MaxFiles > 0
	}
	return slices.ContainsFunc(ofHost, func(words string) bool { return strings.Contains(warning, words) })
}

// otherMachine reports what was not checked, because the server is not proven to run on this machine.
func otherMachine(in Input) []record.DoctorFinding {
	where := "the machine of the server"
	if name := in.Server.Host.Name; name != "" {
		where = name
	}
	return one(system, "other-machine", record.DoctorUnknown, "huge pages, swappiness, NUMA, clock source, filesystem and disks of "+where+" were not checked",
		"run the doctor on that machine", "the server is not proven to run on this machine", "plimsoll doctor --uri mongodb://localhost:PORT/ on "+where)
}

func serverProblem(in Input) []record.DoctorFinding {
	if len(in.Server.Refused) == 0 {
		return nil
	}
	return one(server, "server-answers", record.DoctorUnknown, "not answered: "+strings.Join(in.Server.Refused, ", "), "a user with the role clusterMonitor", "the server refused or does not know some queries", "")
}
