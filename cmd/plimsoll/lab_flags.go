package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// labFlags are flags for the common keys of a lab. They override the file.
type labFlags struct {
	set   map[string]func(*spec.Lab, string) error
	given []string // names of the given flags
	// chosen is true if neither the file nor a flag names the engine.
	chosen bool
}

// labKeys are the keys that flags set. Errors about a given flag name the flag instead of the key.
var labKeys = map[string]string{"name": "name", "engine": "engine.name", "binary": "engine.binary", "hosts": "hosts.mode",
	"election": "topology.election", "redundancy": "storage.redundancy", "device": "storage.device", "backend": "storage.backend",
	"members": "topology.members", "shards": "topology.shards", "host-count": "hosts.count", "stripe": "storage.stripe",
	"tolerate": "storage.tolerate", "memory": "hosts.memory", "size": "storage.size", "cache": "engine.cache", "cores": "hosts.cores",
	"checksum": "storage.checksum", "arbiter": "topology.arbiter", "faults": "storage.faults", "ha": "availability.restart",
	"auth": "engine.authentication", "tls": "engine.tls", "deadline": "deadline"}

// widerKeys are other keys in errors about the value of a flag.
var widerKeys = map[string]string{"shards": "topology.kind", "cores": "hosts", "memory": "hosts", "binary": "engine"}

func addLabFlags(f *pflag.FlagSet) *labFlags {
	l := &labFlags{set: map[string]func(*spec.Lab, string) error{}}
	text := func(name, usage string, to func(*spec.Lab) *string) {
		f.String(name, "", usage)
		l.set[name] = func(s *spec.Lab, v string) error { *to(s) = v; return nil }
	}
	count := func(name, usage string, to func(*spec.Lab) *spec.Count) {
		f.String(name, "", usage)
		l.set[name] = func(s *spec.Lab, v string) (err error) { *to(s), err = spec.ParseCount(v); return err }
	}
	some := func(name, usage string, to func(*spec.Lab) *spec.Count) { // at least 1
		count(name, usage, to)
		set := l.set[name]
		l.set[name] = func(s *spec.Lab, v string) error {
			if err := set(s, v); err != nil {
				return err
			}
			if *to(s) == 0 {
				return errors.New("0 is too few; give 1 or more")
			}
			return nil
		}
	}
	size := func(name, usage string, to func(*spec.Lab) *spec.Size) {
		f.String(name, "", usage)
		l.set[name] = func(s *spec.Lab, v string) (err error) { *to(s), err = spec.ParseSize(v); return err }
	}
	text("name", "`name` of the lab (default: from the file, or lab)", func(s *spec.Lab) *string { return &s.Name })
	text("engine", "database `engine`: mongod, documentdb, or none for volumes only (default: mongod if installed, else documentdb)", func(s *spec.Lab) *string { return &s.Engine.Name })
	text("binary", "mongod: `path` of the program (default: the newest installed one, then PATH)", func(s *spec.Lab) *string { return &s.Engine.Binary })
	text("hosts", "`kind` of hosts: plain (processes and ports) or isolated (namespaces and limits; root on Linux) (default plain)", func(s *spec.Lab) *string { return &s.Hosts.Mode })
	text("election", "election `timeouts`: elect-fast (short drills) or elect-default (MongoDB's own)", func(s *spec.Lab) *string { return &s.Topology.Election })
	text("redundancy", "`redundancy` of volumes: mirror or parity", func(s *spec.Lab) *string { return &s.Storage.Redundancy })
	text("device", "device `class` that the disks simulate, for example hdd-7200 (default: this machine's disk)", func(s *spec.Lab) *string { return &s.Storage.Device })
	text("backend", "volume `manager`: auto, directory, disk, btrfs, md or lvm (default auto)", func(s *spec.Lab) *string { return &s.Storage.Backend })
	some("members", "`number` of members with data, of the replica set or of each shard; of volumes if the engine is none", func(s *spec.Lab) *spec.Count { return &s.Topology.Members })
	some("shards", "`number` of shards of a sharded cluster", func(s *spec.Lab) *spec.Count { return &s.Topology.Shards })
	some("host-count", "`number` of hosts with members (default: one for each member of a set)", func(s *spec.Lab) *spec.Count { return &s.Hosts.Count })
	some("stripe", "`number` of disks of a volume that each copy is striped over", func(s *spec.Lab) *spec.Count { return &s.Storage.Stripe })
	count("tolerate", "`number` of disks of a volume that may fail without data loss", func(s *spec.Lab) *spec.Count { return &s.Storage.Tolerate })
	size("memory", "memory `size` of each isolated host, including its page cache", func(s *spec.Lab) *spec.Size { return &s.Hosts.Memory })
	size("size", "usable `size` of each volume (default: a directory without a limit)", func(s *spec.Lab) *spec.Size { return &s.Storage.Size })
	size("cache", "cache `size` of each member: WiredTiger cache or PostgreSQL shared_buffers", func(s *spec.Lab) *spec.Size { return &s.Engine.Cache })
	l.addOthers(f)
	return l
}

func (l *labFlags) addOthers(f *pflag.FlagSet) {
	f.Float64("cores", 0, "CPU `cores` of each isolated host")
	l.set["cores"] = func(s *spec.Lab, v string) error {
		_, err := fmt.Sscan(v, &s.Hosts.Cores)
		return err
	}
	yes := func(name, usage string, to func(*spec.Lab, bool)) {
		f.Bool(name, false, usage)
		l.set[name] = func(s *spec.Lab, v string) error { to(s, v == "true"); return nil }
	}
	yes("checksum", "verify checksums when reading data; --checksum=false turns this off", func(s *spec.Lab, on bool) { s.Storage.Checksum = &on })
	yes("arbiter", "mongod: add an arbiter to each set", func(s *spec.Lab, on bool) { s.Topology.Arbiter = on })
	yes("faults", "use disks that can fail, lie and lose power", func(s *spec.Lab, on bool) { s.Storage.Faults = on })
	yes("ha", "restart the members of a failed host on another host", func(s *spec.Lab, on bool) { s.Availability.Restart = on })
	yes("auth", "require a user and a password from clients", func(s *spec.Lab, on bool) { s.Engine.Authentication = on })
	yes("tls", "accept TLS connections only, with certificates made for the lab", func(s *spec.Lab, on bool) { s.Engine.TLS = on })
	f.String("deadline", "", "longest `time` until clients can use the lab")
	l.set["deadline"] = func(s *spec.Lab, v string) (err error) {
		s.Deadline, err = spec.ParseDuration(v)
		return err
	}
}

// complete chooses an engine for a lab that names none, and completes it.
func (l *labFlags) complete(ctx context.Context, home string, asked *spec.Lab) error {
	l.chosen = asked.Engine.Name == ""
	lab.ChooseEngine(ctx, home, asked)
	return withExit(exitUsage, l.named(asked.Complete()))
}

// spec reads the file, if any, and applies the flags. It does not set defaults.
func (l *labFlags) spec(cmd *cobra.Command, env *environment, args []string) (spec.Lab, error) {
	var asked spec.Lab
	if len(args) == 1 {
		var err error
		if asked, err = readSpec(env, args[0], "lab", labHint("for a lab of that name use --name %s", args[0]), spec.ReadLab); err != nil {
			return asked, err
		}
	}
	var errs []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if set := l.set[f.Name]; set != nil {
			l.given = append(l.given, f.Name)
			if err := set(&asked, f.Value.String()); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", f.Name, err))
			}
		}
	})
	return asked, withExit(exitUsage, errors.Join(errs...))
}

// namedError is an error with flags in place of the keys that they set.
type namedError struct {
	text string
	err  error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.err }

// named replaces the key at the beginning of each line of an error by the flag that set it.
func (l *labFlags) named(err error) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		for _, flag := range l.given {
			key, rest, _ := strings.Cut(line, ": ")
			if key == labKeys[flag] || key == widerKeys[flag] {
				lines[i] = "--" + flag + ": " + rest
				break
			}
		}
	}
	if l.chosen {
		lines = append(lines, "Neither the file nor --engine names an engine, so plimsoll chose one: mongod where one is installed or on PATH, "+
			"documentdb otherwise.")
	}
	return &namedError{strings.Join(lines, "\n"), err}
}
