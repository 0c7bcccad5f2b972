package disk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// reachedShare is the minimal share of the bytes of a step that each layer of devices must have counted.
const reachedShare = 0.9

// doubtStorage adds findings about what the results depend on: memory, caches and compression below the directory, and
// storage that cannot be seen.
func (p *probe) doubtStorage() {
	s := p.out.Storage
	if len(s.Memory) > 0 {
		p.find("memory-filesystem", measure.Invalid, fmt.Sprintf("data of %s is in memory (%s), so the result is not that of any storage. "+
			"Use a directory on a disk", p.spec.Directory, strings.Join(s.Memory, ", ")))
	}
	for _, b := range s.Devices {
		if b.Cached {
			severity := measure.Warning
			if p.readDirectly() && p.spec.Size < 2*p.memory() {
				severity = measure.Invalid
			}
			p.find("loop-cache", severity, fmt.Sprintf("%s reads and writes its file through the page cache, so reads come from memory. "+
				"Attach it with losetup --direct-io=on", b.Name))
		}
	}
	if name := compressing(s); name != "" {
		p.find("compression", measure.Note, fmt.Sprintf("%s compresses data, and the data of the probe cannot be compressed. "+
			"Your data may be faster or slower than the result", name))
	}
	p.doubtCounters()
	for _, step := range p.out.Steps {
		p.doubtReached(step)
	}
}

// readDirectly reports whether reads with O_DIRECT were measured.
func (p *probe) readDirectly() bool {
	return slices.ContainsFunc(p.out.Steps, func(s record.ProbeStep) bool {
		read, _ := mustReach(s)
		return read > 0
	})
}

// doubtCounters says which part of the storage was not compared with the counters of its devices.
func (p *probe) doubtCounters() {
	s := p.out.Storage
	what := slices.Clone(s.Unseen)
	for _, b := range s.Devices {
		if b.NoCounters {
			what = append(what, fmt.Sprintf("%s, whose counters are disabled (queue/iostats)", b.Name))
		}
	}
	if len(what) > 0 {
		p.find("not-checked", measure.Note, fmt.Sprintf("the counters of devices cannot show whether reads and writes reached %s. "+
			"A cache above it would make the result too good", strings.Join(what, ", ")))
	}
}

// compressing names a filesystem or device that compresses or deduplicates data, "" without one.
func compressing(s record.ProbeStorage) string {
	for _, f := range append([]record.ProbeFilesystem{{Type: s.Filesystem, Options: s.Options}}, s.Below...) {
		for o := range strings.SplitSeq(f.Options, ",") {
			name, value, _ := strings.Cut(o, "=")
			if strings.HasPrefix(name, "compress") && value != "no" && value != "none" || name == "compression" {
				return f.Type + " (" + o + ")"
			}
		}
	}
	return ""
}

// doubtReached compares the bytes of a step that must have reached the devices with their counters. A layer that saw
// less was replaced by a cache above it, whatever the cache is.
func (p *probe) doubtReached(s record.ProbeStep) {
	read, written := mustReach(s)
	seen := map[string]record.ProbeDevice{}
	for _, d := range s.Devices {
		seen[d.Name] = d
	}
	for _, names := range cutsOf(p.out.Storage.Devices) {
		var reads, writes int64
		for _, name := range names {
			reads, writes = reads+seen[name].ReadBytes, writes+seen[name].WriteBytes
		}
		for _, x := range []struct {
			what        string
			asked, done int64
		}{{"read", read, reads}, {"wrote", written, writes}} {
			if float64(x.done) < reachedShare*float64(x.asked) {
				p.find("not-on-device", measure.Invalid, fmt.Sprintf("the probe %s %s in %s, and %s %s only %s. "+
					"A cache above it did the rest, so the result is not that of the storage",
					x.what, figure.Bytes(x.asked), stepText(s), strings.Join(names, ", "), x.what, figure.Bytes(x.done)))
			}
		}
	}
}

// mustReach returns the bytes of a step that cannot be answered by the page cache above the devices: reads with
// O_DIRECT, and writes with O_DIRECT or a sync.
func mustReach(s record.ProbeStep) (read, written int64) {
	if s.Mode == files.Mapped {
		return 0, 0
	}
	direct := s.Mode == files.Direct
	durable := direct || s.Sync == SyncData || s.Sync == SyncOpen
	switch {
	case s.Profile == spec.ProbeRandom && s.Operation == Mixed:
		if direct && s.Reads != nil {
			read = s.Reads.Count * s.Block
		}
		if durable && s.Writes != nil {
			written = s.Writes.Count * s.Block
		}
	case s.Operation == Read:
		if direct {
			read = s.Bytes
		}
	case durable:
		written = s.Bytes // a checkpoint counts the bytes of its commits
	}
	return read, written
}

// cutsOf returns the sets of devices through which all data of the filesystem go, one for each depth, of those whose
// devices all count. A device above the depth belongs to a set if something below it is deeper, or nothing is below it.
func cutsOf(list []record.ProbeBlock) (cuts [][]string) {
	depth, deepest := depthsOf(list), 0
	for _, d := range depth {
		deepest = max(deepest, d)
	}
	for k := range deepest + 1 {
		var names []string
		counted := true
		for _, b := range list {
			below := b.Leaf
			for _, other := range list {
				below = below || slices.Contains(other.Above, b.Name) && depth[other.Name] > k
			}
			if depth[b.Name] <= k && below {
				names = append(names, b.Name)
				counted = counted && !b.NoCounters
			}
		}
		if counted && len(names) > 0 {
			cuts = append(cuts, names)
		}
	}
	return cuts
}

// stepText names a step.
func stepText(s record.ProbeStep) string {
	return fmt.Sprintf("%s %s with %s", s.Profile, s.Operation, threadsText(max(s.Threads, s.Clients)))
}
