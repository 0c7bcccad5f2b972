package mongoperf

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Spec returns the probe for a configuration.
func (c Config) Spec(dir string, step time.Duration) record.ProbeSpec {
	s := disk.Defaults(dir)
	s.Profiles = []string{spec.ProbeRandom}
	s.Size, s.Block, s.Threads = c.FileSizeMB<<20, c.RecordKB<<10, c.Threads
	s.Duration, s.SyncDelay = int64(step), c.SyncDelay*int64(time.Second)
	if step == 0 {
		s.Duration = int64(8 * time.Second) // mongoperf's duration of a step of the ramp
	}
	s.Segment = min(s.Segment, max(1<<20, s.Size/4)) // flushes are counted in a file of this size
	switch {
	case c.Read && c.Write:
		s.Operations = []string{disk.Mixed}
	case c.Write:
		s.Operations = []string{disk.Write}
	default:
		s.Operations = []string{disk.Read}
	}
	// mongoperf fell back to the page cache silently; Run reports it.
	s.Mode, s.Fallback, s.Forced = files.Direct, true, c.Forced
	if c.Mapped {
		s.Mode = files.Mapped
	}
	return s
}

// advice has the keys of a configuration, by the flags of 'plimsoll disk probe' that set the same.
var advice = strings.NewReplacer("--size", "fileSizeMB", "--block", "recSizeKB", "--duration", "--step", "--threads", "nThreads",
	"--mode buffered or --fallback", "mmf:true", "--mode buffered", "mmf:true", "--mode direct", "mmf:false", "--sync-delay", "syncDelay")

// Advice is a text about a probe with the keys of a configuration in place of flags that mongoperf does not have.
func Advice(text string) string { return advice.Replace(text) }

// printer prints the progress in mongoperf's format.
type printer struct {
	mu     sync.Mutex
	w      io.Writer
	config Config
	ramp   []int
	next   int // of the ramp
	notes  func(string)
}

// Run runs a configuration and prints mongoperf's lines to w, until ctx ends. With a step the last number of threads
// ends after it too. notes receives messages that mongoperf did not print.
func Run(ctx context.Context, c Config, dir string, step time.Duration, w io.Writer,
	notes func(string)) (*record.Probe, error) {
	spec := c.Spec(dir, step)
	p := &printer{w: w, config: c, ramp: disk.Ramp(spec), notes: notes}
	p.print("mongoperf\nuse -h for help\nparsed options:\n%s\n", c.Text)
	for _, key := range c.Unknown {
		notes(fmt.Sprintf("ignored the unknown key %q%s", key, nearest.DidYouMean(key, keys)))
	}
	writer, err := record.CreateProbe("", &record.Probe{Specification: spec,
		Head: record.Head{Environment: record.NewEnvironment(nil)}})
	if err != nil {
		return nil, err
	}
	p.print("creating test file size:%dMB ...\n", c.FileSizeMB)
	err = disk.Run(ctx, disk.Options{
		Writer: writer, Progress: p, Endless: step == 0, Pause: time.Duration(c.SleepMicros) * time.Microsecond,
		Synced: func(took time.Duration) {
			if took >= time.Millisecond { // without a syncDelay they follow each other, and most have nothing to do
				p.print("                    mmf sync took %dms\n", took.Milliseconds())
			}
		},
	})
	return writer.Probe, err
}

func (p *printer) print(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format, a...)
}

// Step counts the steps of the ramp.
func (p *printer) Step(text string) {
	if len(text) < 6 || text[:6] != "random" || p.next >= len(p.ramp) {
		return
	}
	if p.next == 0 {
		p.print("testing...\noptions:%s\nwthr %d\n", p.config.Text, p.config.Threads)
	}
	p.print("new thread, total running : %d\n", p.ramp[p.next])
	if p.next == 0 {
		p.print("read:%d write:%d\n", one(p.config.Read), one(p.config.Write))
	}
	p.next++
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *printer) Note(text string) { p.notes(text) }

// Second prints a line. Unlike mongoperf, which did not divide by the time and assumed records of 4 KiB, it uses the
// actual time and bytes.
func (p *printer) Second(s record.ProbeSecond) {
	if s.Length < int64(time.Second/2) { // the rest of the last second
		return
	}
	seconds := time.Duration(s.Length).Seconds()
	ops := math.Round(float64(s.Operations) / seconds)
	if p.config.Mapped {
		p.print("%.0f ops/sec\n", ops)
		return
	}
	p.print("%.0f ops/sec %.0f MB/sec\n", ops, math.Floor(float64(s.Bytes)/seconds/(1<<20)))
}
