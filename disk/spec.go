package disk

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Profiles are the names of all profiles, in the order in which "all" runs them.
func Profiles() []string {
	return []string{spec.ProbeRandom, spec.ProbeJournal, spec.ProbeCheckpoint, spec.ProbeSustained}
}

// Defaults returns the default specification of a probe of a directory.
func Defaults(dir string) record.ProbeSpec {
	return record.ProbeSpec{
		Directory: dir, Profiles: []string{spec.ProbeRandom, spec.ProbeJournal}, Size: 4 << 30,
		Duration: int64(10 * time.Second),
		Threads:  16, Block: 4096, Operations: []string{Read, Write}, Mode: files.Direct, Sync: SyncData,
		SyncDelay: int64(60 * time.Second), Record: 1024, Segment: 100 << 20,
		Clients:    []int{1, 2, 4, 8, 16, 32, 64, 128, 256},
		CommitRate: 100, ReadRate: 100, Dirty: 256 << 20, Files: 20, Period: int64(60 * time.Second),
	}
}

// The operations of the profile random, and those of the others.
const (
	Read       = "read"
	Write      = "write"
	Mixed      = "mixed"
	Commit     = "commit"
	Checkpoint = "checkpoint"
)

// Methods to sync writes.
const (
	SyncData = "fdatasync" // a call of its own after each write
	SyncOpen = "dsync"     // the file is opened with O_DSYNC
	SyncNone = "none"      // nothing: the device may keep it in its cache
)

// journalAlign is the alignment of records in WiredTiger's journal.
const journalAlign = 128

// Check checks a specification and normalizes it.
func Check(s *record.ProbeSpec) error {
	for _, err := range []error{checkNames(s), checkRates(s), checkSizes(s)} {
		if err != nil {
			return err
		}
	}
	if s.Seed == 0 { // data of two probes must not be alike
		s.Seed = 1 + rand.Uint64N(1<<53-1) // a number that every reader of JSON keeps
	}
	// The size is a multiple of blocks and pieces, or the last block would cross the end.
	s.Record = (s.Record + journalAlign - 1) / journalAlign * journalAlign
	s.Size -= s.Size % max(s.Block, 4096)
	return nil
}

func checkNames(s *record.ProbeSpec) error {
	if len(s.Profiles) == 0 {
		return fmt.Errorf("a probe needs a profile: use one of %v", Profiles())
	}
	logs := []string{spec.LogReserved, spec.LogGrowing, spec.LogOverwritten}
	for _, x := range []struct {
		what          string
		values, known []string
	}{
		{"profile", s.Profiles, Profiles()},
		{"operation", s.Operations, []string{Read, Write, Mixed}},
		{"mode", []string{s.Mode}, []string{files.Direct, files.Buffered, files.Mapped}},
		{"sync", []string{s.Sync}, []string{SyncData, SyncOpen, SyncNone}},
		{"log", []string{cmp.Or(s.Log, logs[0])}, logs},
	} {
		for _, word := range x.values {
			if !slices.Contains(x.known, word) {
				return fmt.Errorf("unknown %s %q%s (known: %s)", x.what, word, nearest.DidYouMean(word, x.known),
					strings.Join(x.known, ", "))
			}
		}
	}
	return nil
}

func checkSizes(s *record.ProbeSpec) error {
	switch {
	case s.Block < 512 || s.Block > 64<<20 || s.Block%512 != 0:
		return fmt.Errorf("invalid block of %s: use a multiple of 512 B up to 64 MiB", figure.Bytes(s.Block))
	case s.Size < s.Block || s.Size < 1<<20:
		return fmt.Errorf("a test file of %s is too small: use at least 1 MiB and one block", figure.Bytes(s.Size))
	case s.Size/s.Block < int64(s.Threads) && !slices.Equal(s.Operations, []string{Read}):
		return fmt.Errorf("a test file of %s has fewer blocks than threads: use a larger --size", figure.Bytes(s.Size))
	case s.Record < 1 || s.Record > 16<<20:
		return fmt.Errorf("invalid commit of %s: use 1 B to 16 MiB", figure.Bytes(s.Record))
	case s.Segment < 1<<20 || s.Segment < 4*s.Record:
		return fmt.Errorf("a journal file of %s is too small: use at least 1 MiB and four commits", figure.Bytes(s.Segment))
	case s.Dirty < 1<<20:
		return fmt.Errorf("a checkpoint of %s is too small: use at least 1 MiB", figure.Bytes(s.Dirty))
	case s.Files < 1 || s.Files > 999:
		return fmt.Errorf("invalid number of files of checkpoints, %d: use 1 to 999", s.Files)
	}
	return nil
}

func checkRates(s *record.ProbeSpec) error {
	if len(s.Ramp) > 0 {
		s.Threads = slices.Max(s.Ramp)
	}
	switch {
	case len(s.Ramp) > 0 && slices.Min(s.Ramp) < 1:
		return fmt.Errorf("invalid step with %d threads: use 1 to 4096", slices.Min(s.Ramp))
	case s.Threads < 1 || s.Threads > 4096:
		return fmt.Errorf("invalid number of threads, %d: use 1 to 4096", s.Threads)
	case s.Duration < int64(50*time.Millisecond):
		return fmt.Errorf("a step of %v is too short: use at least 50 ms", time.Duration(s.Duration))
	case s.Period < int64(50*time.Millisecond):
		return fmt.Errorf("a checkpoint period of %v is too short: use at least 50 ms", time.Duration(s.Period))
	case !(s.CommitRate > 0) || !(s.ReadRate >= 0) || s.CommitRate > 1e6 || s.ReadRate > 1e6:
		return fmt.Errorf("commits and reads per second must be between 0 and a million, but are %v and %v", s.CommitRate, s.ReadRate)
	case s.SyncDelay < 0:
		return fmt.Errorf("invalid sync delay of %v: use a positive time", time.Duration(s.SyncDelay))
	}
	for _, c := range s.Clients {
		if c < 1 || c > 4096 {
			return fmt.Errorf("invalid number of clients, %d: use 1 to 4096", c)
		}
	}
	for _, peer := range s.Peers {
		if peer.Flush <= 0 || peer.RTT < 0 {
			return fmt.Errorf("a peer needs the time of its flush and a round trip, such as 2ms@0.5ms")
		}
	}
	return nil
}

// doubling returns 1, 2, 4 … and most as the last one.
func doubling(most int) []int {
	var list []int
	for n := 1; n < most; n *= 2 {
		list = append(list, n)
	}
	return append(list, most)
}

// Ramp returns the numbers of threads of the profile random.
func Ramp(s record.ProbeSpec) []int {
	if len(s.Ramp) > 0 {
		return s.Ramp
	}
	return doubling(s.Threads)
}

// Estimate returns the number and the duration of the steps of a specification, without the writing of test files.
func Estimate(s record.ProbeSpec) (steps int, total time.Duration) {
	for _, name := range s.Profiles {
		switch name {
		case spec.ProbeRandom:
			steps += len(s.Operations) * len(Ramp(s))
		case spec.ProbeJournal:
			steps += len(s.Clients)
		default:
			steps++
		}
	}
	return steps, time.Duration(steps) * time.Duration(s.Duration)
}
