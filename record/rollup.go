package record

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// resolution is a pair of files with the course of a run: intervals of about one length, and their histograms.
type resolution struct {
	width              time.Duration // 0: as they were measured
	intervals, latency string
}

// resolutions are the lengths of intervals in a record, shortest first. Longer ones have the same merged, so that the
// page of a day need not read 86,400 sets of histograms. They only exist if a phase was longer than they are.
var resolutions = []resolution{
	{0, IntervalsFile, LatencyFile},
	{10 * time.Second, "intervals-10s.ndjson.zst", "latency-10s.hlog"},
	{time.Minute, "intervals-1m.ndjson.zst", "latency-1m.hlog"},
}

// intervalLog writes the files of a resolution.
type intervalLog struct {
	intervals *packedLines
	latency   *lineFile
	log       *hdr.HistogramLogWriter
}

func createIntervalLog(dir string, names resolution) (l *intervalLog, err error) {
	l = new(intervalLog)
	if l.intervals, err = createPacked(dir, names.intervals); err != nil {
		return nil, err
	}
	if l.latency, err = createLines(dir, names.latency); err != nil {
		return nil, errors.Join(err, l.intervals.close())
	}
	l.log = hdr.NewHistogramLogWriter(l.latency)
	return l, nil
}

// begin writes the head of the histogram log. Its times count from the base time, which is the start of the run.
func (l *intervalLog) begin(started time.Time) error {
	ms := started.UnixMilli()
	l.log.SetBaseTime(ms)
	return errors.Join(
		l.log.OutputComment("[Logged with plimsoll; values are nanoseconds, Interval_Max is milliseconds]"),
		l.log.OutputLogFormatVersion(),
		l.log.OutputBaseTime(ms),
		l.log.OutputStartTime(ms),
		l.log.OutputLegend(),
		l.latency.Flush(),
	)
}

// append writes an interval. Its histograms reach the file before the line that counts on them, and both are flushed,
// so that a killed process leaves them readable.
func (l *intervalLog) append(d measure.Dims, started time.Time, iv *measure.Interval) error {
	base := started.UnixMilli()
	for _, t := range used(d, iv) {
		p := (*t.at).Packed()
		p.SetTag(t.tag)
		p.SetStartTimeMs(base + iv.Start.Milliseconds())
		p.SetEndTimeMs(base + iv.End.Milliseconds())
		if err := l.log.OutputIntervalPackedHistogram(p); err != nil {
			return err
		}
	}
	if err := l.latency.Flush(); err != nil {
		return err
	}
	return l.intervals.write(newIntervalLine(d, iv))
}

func (l *intervalLog) close() error { return errors.Join(l.intervals.close(), l.latency.close()) }

// rollup merges intervals to such of a width and writes these. Stretches of a phase begin at multiples of the width
// since the phase began. What ends after its phase has intervals beside those of the next phase, so several are open at
// once.
type rollup struct {
	resolution
	from map[string]time.Duration // when each phase began
	open []*stretch               // in the order in which they began
	// waiting are those before the first one of the whole width. A run without such has no files of this resolution.
	waiting []*measure.Interval
	log     *intervalLog
}

// stretch is a part of a phase that is being merged.
type stretch struct {
	sum *measure.Summary
	end time.Duration // of the whole width
}

// add takes an interval into account and returns the stretches that are over by it. whole says that one of them has the
// whole width and is made of more than one interval. It keeps nothing of iv.
func (r *rollup) add(d measure.Dims, iv *measure.Interval) (over []*measure.Interval, whole bool, err error) {
	var at *stretch
	still := r.open[:0]
	for _, s := range r.open {
		if s.end <= iv.Start {
			over = append(over, s.sum.Interval())
			whole = whole || s.sum.Phase == iv.Phase && len(s.sum.Points) > 1
			continue
		}
		if still = append(still, s); s.sum.Phase == iv.Phase {
			at = s
		}
	}
	r.open = still
	if at == nil {
		from, ok := r.from[iv.Phase]
		if !ok {
			from = iv.Start
			r.from[iv.Phase] = from
		}
		at = &stretch{measure.NewSummary(d, iv.Phase), iv.Start - (iv.Start-from)%r.width + r.width}
		r.open = append(r.open, at)
	}
	return over, whole, at.sum.Add(iv)
}

// rest are the stretches that are not over.
func (r *rollup) rest() (list []*measure.Interval) {
	for _, s := range r.open {
		list = append(list, s.sum.Interval())
	}
	r.open = nil
	return list
}

// rollUp merges an interval into the coarser resolutions.
func (w *RunWriter) rollUp(iv *measure.Interval) error {
	for _, r := range w.rollups {
		over, whole, err := r.add(w.dims, iv)
		if err != nil {
			return err
		}
		if err := w.writeRollup(r, over, whole); err != nil {
			return err
		}
	}
	return nil
}

// writeRollup writes stretches that are over. The files are made with the first one of the whole width.
func (w *RunWriter) writeRollup(r *rollup, over []*measure.Interval, whole bool) (err error) {
	r.waiting = append(r.waiting, over...)
	if r.log == nil {
		if !whole {
			return nil
		}
		if r.log, err = createIntervalLog(w.dir, r.resolution); err != nil {
			return err
		}
		if err := r.log.begin(w.run.Started); err != nil {
			return err
		}
		w.run.Files = append(w.run.Files, File{r.intervals, IntervalsFile + " merged to intervals of " + r.width.String()},
			File{r.latency, LatencyFile + " merged to intervals of " + r.width.String()})
	}
	for _, iv := range r.waiting {
		if err := r.log.append(w.dims, w.run.Started, iv); err != nil {
			return err
		}
	}
	r.waiting = nil
	return nil
}

// closeRollups writes what is left of the coarser resolutions.
func (w *RunWriter) closeRollups() error {
	var errs []error
	for _, r := range w.rollups {
		if r.log == nil {
			continue
		}
		if w.failed == nil {
			errs = append(errs, w.writeRollup(r, r.rest(), false))
		}
		errs = append(errs, r.log.close())
	}
	return errors.Join(errs...)
}

// EachMerged is [EachInterval] for charts: if the record has longer intervals, f gets the shortest ones of which there
// are at most about most. Without such files, as in old records, it gets all. r is the run.json of the record. The last
// interval of a run that is running or was killed may be missing.
func EachMerged(dir string, r *Run, most int, f func(*measure.Interval) error) (complete bool, err error) {
	var length time.Duration
	for _, p := range r.Phases {
		length = max(length, time.Duration(p.End))
	}
	return eachInterval(dir, resolutionFor(dir, length, most), r.Dims(), f)
}

// EachMergedLine is [EachMerged] without the histograms, for a run of about this length. Records without files of
// longer intervals have all their lines read.
func EachMergedLine(dir string, length time.Duration, most int, f func(*IntervalLine) error) error {
	_, err := eachLine(dir, resolutionFor(dir, length, most).intervals, f)
	return err
}

// resolutionFor returns the shortest resolution of a record with at most about most intervals, or the longest that
// exists.
func resolutionFor(dir string, length time.Duration, most int) resolution {
	names := resolutions[0]
	for _, coarser := range resolutions[1:] {
		if length <= time.Duration(most)*max(names.width, time.Second) {
			break
		}
		if _, err := os.Lstat(filepath.Join(dir, coarser.intervals)); err != nil {
			break
		}
		names = coarser
	}
	return names
}
