package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// labSettings are the flags for the common keys of a lab.
var labSettings = slicesOf(
	in(hostsGroup,
		key("name", "name", "`name` of the lab (default: from the file, or lab)"),
		key("engine", "engine.name", "database `engine`: mongod, documentdb, or none for volumes only (default: mongod if installed, else documentdb)"),
		key("binary", "engine.binary", "mongod: `path` of the program (default: the newest installed one, then PATH)").under("engine"),
		key("members", "topology.members", "number of members with data, of the replica set or of each shard; of volumes if the engine is none").atLeast1(),
		key("shards", "topology.shards", "number of shards of a sharded cluster").atLeast1().under("topology.kind"),
		key("arbiter", "topology.arbiter", "mongod: add an arbiter to each set"),
		key("election", "topology.election", "election timeouts: elect-fast (short drills) or elect-default (MongoDB's or Patroni's own)"),
		key("hosts", "hosts.mode", "`kind` of hosts: plain (processes and ports) or isolated (namespaces and limits; root on Linux) (default plain)"),
		key("host-count", "hosts.count", "number of hosts with members (default: one for each member of a set)").atLeast1(),
		key("cores", "hosts.cores", "CPU `cores` of each isolated host").under("hosts"),
		key("memory", "hosts.memory", "memory size of each isolated host, including its page cache").under("hosts"),
		key("cache", "engine.cache", "cache size of each member: WiredTiger cache or PostgreSQL shared_buffers"),
		key("ha", "availability.restart", "restart the members of a failed host on another host"),
		key("auth", "engine.authentication", "require a user and a password from clients"),
		key("tls", "engine.tls", "accept TLS connections only, with certificates made for the lab"),
		key("deadline", "deadline", "longest time until clients can use the lab"),
	),
	in(storageGroup,
		key("size", "storage.size", "usable size of each volume (default: a directory without a limit)"),
		key("stripe", "storage.stripe", "number of disks of a volume that each copy is striped over").atLeast1(),
		key("tolerate", "storage.tolerate", "number of disks of a volume that may fail without data loss"),
		key("redundancy", "storage.redundancy", "redundancy of volumes: mirror or parity"),
		key("checksum", "storage.checksum", "verify checksums when reading data; --checksum=false turns this off"),
		key("device", "storage.device", "device `class` that the disks simulate, for example hdd-7200 (default: this machine's disk)").from(oneOf(spec.DeviceClasses()...)),
		key("backend", "storage.backend", "volume `manager`: auto, directory, disk, btrfs, md or lvm (default auto)"),
		key("faults", "storage.faults", "use disks that can fail, lie and lose power"),
	),
)

// labFlags are the settings of a lab. They override the file.
type labFlags struct {
	settings
	// chosen is true if neither the file nor a flag names the engine.
	chosen bool
	engine string // the chosen one
}

func addLabFlags(cmd *cobra.Command) *labFlags {
	return &labFlags{settings: addSettings(cmd, &spec.Lab{}, labSettings)}
}

// complete chooses an engine for a lab that names none, and completes it.
func (l *labFlags) complete(ctx context.Context, home string, asked *spec.Lab) error {
	l.chosen = asked.Engine.Name == ""
	lab.ChooseEngine(ctx, home, asked)
	l.engine = asked.Engine.Name
	return withExit(exitUsage, l.named(asked.Complete()))
}

// spec reads the file, if any, and applies the flags. It does not set defaults.
func (l *labFlags) spec(env *environment, args []string) (asked spec.Lab, err error) {
	if len(args) == 1 {
		if asked, err = readSpec(env, args[0], "lab", labHint("for a lab of that name use --name %s", args[0]), spec.ReadLab); err != nil {
			return asked, err
		}
	}
	return asked, l.apply(&asked)
}

// named names flags in place of the keys that they set, and says which engine was chosen if the error is about that.
func (l *labFlags) named(err error) error {
	if err == nil || !l.chosen || !strings.Contains(err.Error(), l.engine) {
		return l.settings.named(err)
	}
	why := "the installed mongod."
	if l.engine == engine.DocumentDB {
		why = "documentdb, because no mongod is installed or on PATH."
	}
	return &namedError{l.settings.named(err).Error() + "\nNeither the file nor --engine names an engine, so plimsoll chose " + why, err}
}
