package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// probeSettings are the flags for the keys of a probe.
var probeSettings = slicesOf(
	in(studyGroup,
		form(key("profile", "profiles", "`profiles`: random, journal, checkpoint, sustained or all (default random,journal)"), "profiles", true, readProfiles).inBrief().from(oneOf(append(disk.Profiles(), "all")...)),
		unit[spec.Size](key("size", "size", "size of the test file; with --mode buffered, use twice the memory of this machine")).inBrief(),
		unit[spec.Duration](key("duration", "duration_ns", "time of each step")).inBrief(),
		key("seed", "seed", "seed of offsets and data (default random)"),
	),
	in(randomGroup,
		single(key("threads", "threads", "highest `number` of threads of the ramp 1, 2, 4 …, or a list such as 1,4,16 (default 16)"), "", readThreads).inBrief(),
		unit[spec.Size](key("block", "block", "size of one read or write")),
		key("operations", "operations", "`operations`: read, write, mixed (one read, then one write)").inBrief().from(oneOf(disk.Read, disk.Write, disk.Mixed)),
		key("mode", "mode", "I/O mode: direct (O_DIRECT), buffered or mmap").inBrief(),
		key("sync", "sync", "sync of each write: fdatasync, dsync or none"),
		unit[spec.Duration](key("sync-delay", "sync_delay_ns", "time between two syncs of the mapping, with --mode mmap")),
		key("fallback", "fallback", "use the page cache, with a warning, if O_DIRECT does not work"),
	),
	in(journalGroup,
		unit[spec.Size](key("record", "record", "bytes of one commit")),
		unit[spec.Size](key("segment", "segment", "size of the files")),
		key("log", "log", "how the files are written: reserved in advance (WiredTiger), growing (Pebble), or overwritten in pages (PostgreSQL) (default reserved)").from(oneOf(spec.LogReserved, spec.LogGrowing, spec.LogOverwritten)),
		key("clients", "clients", "`numbers` of clients that wait for commits").inBrief(),
		form(key("peer", "peers", "another member: the time of its flush and of a round trip to it (`FLUSH@RTT`), such as 2ms@0.5ms"), "peers", true, readPeers).inBrief(),
	),
	in(checkpointGroup,
		key("commit-rate", "commit_rate", "commits per second, at random times").inBrief(),
		key("read-rate", "read_rate", "cache misses per second, at random times").inBrief(),
		unit[spec.Size](key("dirty", "dirty", "bytes that one checkpoint writes")).inBrief(),
		key("files", "files", "number of files, written and synced one after another"),
		unit[spec.Duration](key("checkpoint-period", "period_ns", "time from the end of one to the next; if not given, at most a quarter of --duration")),
	),
	in(resultsGroup,
		key("slo", "objectives", "`objectives`, such as flush.p99<10ms, read.rate>5000 or commit.p99<20ms; exit code 4 if one is missed").inBrief(),
		form(key("device", "devices", "block `device` of the data, if the kernel does not show it (FUSE, overlay)"), "devices", true, readDevices),
	),
)

func readProfiles(to *[]string, texts []string) error {
	if *to = strings.Split(strings.Join(texts, ","), ","); len(*to) == 1 && (*to)[0] == "all" {
		*to = disk.Profiles()
	}
	return nil
}

func readDevices(to *[]string, texts []string) error {
	*to = texts
	return nil
}

// readThreads parses the end of a ramp, or all its numbers.
func readThreads(s *record.ProbeSpec, text string) error {
	var ramp []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%q is not a number of threads; write for example 64, or 1,4,16", part)
		}
		ramp = append(ramp, n)
	}
	if s.Threads, s.Ramp = ramp[0], nil; len(ramp) > 1 {
		s.Ramp = ramp
	}
	return nil
}

// readPeers parses "2ms@0.5ms": the time of a flush and of a round trip.
func readPeers(to *[]record.ProbePeer, texts []string) error {
	*to = nil
	for _, text := range texts {
		flush, rtt, ok := strings.Cut(text, "@")
		s, err1 := spec.ParseDuration(flush)
		r, err2 := spec.ParseDuration(rtt)
		if !ok || err1 != nil || err2 != nil {
			return fmt.Errorf("%q is not the time of a flush and of a round trip, for example 2ms@0.5ms", text)
		}
		*to = append(*to, record.ProbePeer{Flush: int64(s), RTT: int64(r)})
	}
	return nil
}
