package doctor

import (
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

const server = "server"

func serverCache(in Input) []record.DoctorFinding {
	s := in.Server
	const why = "what does not fit into the cache or the page cache is read from storage"
	const id = "cache-size"
	if s.Cache == 0 {
		return unknown(server, id, "half of the memory, less 1 GiB", why)
	}
	is := figure.Bytes(s.Cache)
	severity := record.DoctorGood
	if in.Host != nil && s.Local && in.Host.Memory > 0 {
		is += " of " + figure.Bytes(in.Host.Memory) + " memory"
		if s.Cache > in.Host.Memory*8/10 {
			severity = record.DoctorWarning
		}
	}
	list := one(server, id, severity, is, "half of the memory, less 1 GiB (the default), and never more than 80 % of it", why, "storage.wiredTiger.engineConfig.cacheSizeGB")
	if s.Data > 0 {
		share := float64(s.Cache) / float64(s.Data)
		list = append(list, one(server, "working-set", either(share >= 1, record.DoctorAdvice), fmt.Sprintf("%s of data and indexes, %s of it fits into the cache", figure.Bytes(s.Data), figure.Percent(min(1, share))),
			"the working set in memory", why, "more memory, more shards, or storage whose random reads carry the rest (plimsoll disk --profile random)")...)
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
	if m := in.Server.MajorityJournal; m != nil {
		list = append(list, one(server, "majority-journal", either(*m, record.DoctorCritical), onOff(*m), "on", "w:majority without journals acknowledges writes that a power cut of several members takes away",
			"writeConcernMajorityJournalDefault: true in the configuration of the replica set")...)
	}
	return list
}

// gateway says what can be known of a database that only speaks MongoDB's protocol, and where the rest is found.
func gateway(in Input) []record.DoctorFinding {
	s := in.Server
	const untold = "the gateway does not say"
	is := s.Gateway
	if s.Backend != "" {
		is += " in front of " + s.Backend
	}
	list := one(server, "engine", record.DoctorGood, is+"; it speaks the protocol of MongoDB "+s.Version, "", "recommendations for mongod and WiredTiger are left out", "")
	if s.Data > 0 {
		list = append(list, one(server, "data-size", record.DoctorGood, figure.Bytes(s.Data), "", "all databases together", "")...)
	}
	list = append(list, one(server, "cache-size", record.DoctorUnknown, untold, "shared_buffers of a quarter of the memory", "what fits neither there nor into the page cache is read from storage", "SHOW shared_buffers in PostgreSQL")...)
	list = append(list, one(server, "journal", record.DoctorUnknown, untold, "fsync and full_page_writes on", "without them a power cut loses acknowledged writes, or damages the database", "SHOW fsync, and SHOW full_page_writes, in PostgreSQL")...)
	return append(list, one(server, "default-write-concern", record.DoctorAdvice, "write concerns are ignored", "a synchronous_commit that means the durability which is asked for",
		"a write is as durable as PostgreSQL makes it, whatever the client asks for", "ALTER ROLE … SET synchronous_commit, or one gateway for each level, as plimsoll lab has them")...)
}

// router says that the members of the shards are to be asked.
func router(in Input) []record.DoctorFinding {
	s := in.Server
	list := one(server, "router", record.DoctorUnknown, "a mongos, which keeps no data", "the same look at each member of each shard", "cache, journal and replica set are those of the members", "plimsoll doctor --uri with the address of a member, on its own machine")
	if s.DefaultW != "" {
		list = append(list, concern(s.DefaultW)...)
	}
	return list
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func serverConcern(in Input) []record.DoctorFinding {
	s := in.Server
	if s.Members <= 1 {
		return one(server, "replica-set", record.DoctorAdvice, "no replica set", "a replica set of three members that keep data", "a single server is down as long as its machine is", "rs.initiate(), and two more members")
	}
	return concern(s.DefaultW)
}

// concern judges the default write concern.
func concern(w string) []record.DoctorFinding {
	const id, why = "default-write-concern", "a write that one member alone acknowledged is lost when that member is"
	if w == "" {
		return unknown(server, id, "majority", why)
	}
	return one(server, id, either(strings.Contains(w, "majority"), record.DoctorWarning), w, "majority", why, `db.adminCommand({setDefaultRWConcern: 1, defaultWriteConcern: {w: "majority"}})`)
}

func serverVersion(in Input) []record.DoctorFinding {
	s := in.Server
	if s.Version == "" {
		return unknown(server, "version", "a version that is maintained", "repairs are only made there")
	}
	list := one(server, "version", either(major(s.Version) >= 6, record.DoctorWarning), s.Version, "a version that is maintained (7.0 or 8.0)", "repairs are only made there", "upgrade one major version at a time")
	if s.FCV != "" {
		list = append(list, one(server, "feature-compatibility", either(strings.HasPrefix(s.Version, s.FCV), record.DoctorAdvice), s.FCV+" on "+s.Version, "that of the server", "features and formats of the new version stay off", "db.adminCommand({setFeatureCompatibilityVersion: …}) when a return to the old version is no longer wanted")...)
	}
	return list
}

func serverProblem(in Input) []record.DoctorFinding {
	if in.Server.Problem == "" {
		return nil
	}
	return one(server, "server-answers", record.DoctorUnknown, in.Server.Problem, "a user with the role clusterMonitor", "some facts of the server were refused or are not known to it", "")
}
