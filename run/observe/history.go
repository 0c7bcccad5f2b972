package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/server/ftdc"
)

const (
	gapFrom    = 5 * time.Second // between two samples of a server that takes one a second
	mostGaps   = 10
	mostBroken = 20
	ofServer   = "server:" // and the name that the server has at the end
	mostNames  = 10
	mostRecent = 2_000 // samples; a chunk has 300
	fullUsed   = 0.95  // of the cache: operations have to evict
	fullDirty  = 0.20
)

// ReadHistory reads the diagnostic data of one server: the directory diagnostic.data below its dbPath, or that of a
// member in a record.
func ReadHistory(ctx context.Context, dir string) (*record.Diagnosis, error) {
	h := &history{status: newStatusReader(), sums: map[[2]string]*historySum{}, others: map[string]int64{}}
	h.out.SchemaVersion, h.out.Kind, h.out.Directory = record.SchemaVersion, record.KindDiagnosis, dir
	damages, err := ftdc.ReadDir(ctx, dir, h.sample)
	if err != nil {
		return nil, fmt.Errorf("cannot read the diagnostic data in %s: %w", dir, err)
	}
	for i, d := range damages {
		if i == mostBroken {
			h.out.Damaged = append(h.out.Damaged, fmt.Sprintf("and %d more files", len(damages)-i))
			break
		}
		h.out.Damaged = append(h.out.Damaged, d.File+": "+d.Why)
	}
	if h.out.Samples == 0 {
		return nil, fmt.Errorf("%s has no samples of a server that could be read: %v", dir, h.out.Damaged)
	}
	return h.end(), nil
}

// history adds up the samples of one server.
type history struct {
	out    record.Diagnosis
	status *statusReader
	host   diagnosticReader
	last   time.Time
	recent []time.Time // of the last samples: files may have some of them twice
	others map[string]int64
	sums   map[[2]string]*historySum // of all the time, by source and name
	minute minuteSums
	peak   map[[2]string]*historySum
	hour   []activityAt // one a minute, of the last hour, since the last restart
	before server.Activity
	ended  float64 // operations of all seconds
	timed  float64 // seconds in which they were counted
}

type historySum struct {
	n, sum, max, last float64
	at                time.Time
}

func (s *historySum) add(x float64, at time.Time) {
	if s.n == 0 || x > s.max {
		s.max, s.at = x, at
	}
	s.n, s.sum, s.last = s.n+1, s.sum+x, x
}

// minuteSums are the sums of a minute.
type minuteSums struct {
	began time.Time
	ended float64
	timed float64
	sums  map[[2]string]*historySum
}

type activityAt struct {
	at time.Time
	server.Activity
}

// sample adds one sample. Those that the files have twice are left out, and those of another server are counted.
func (h *history) sample(reply bson.Raw) error {
	d := server.ReadDiagnostics(reply)
	if len(d.Status) == 0 || d.Taken.IsZero() || !d.Taken.After(h.last) && slices.ContainsFunc(h.recent, d.Taken.Equal) {
		return nil
	}
	name := server.Text(d.Status, "host")
	if h.last.IsZero() {
		h.out.From, h.out.Server = d.Taken, name
	}
	if name != h.out.Server {
		if up, known := uptimeMillis.Number(d.Status); !known || !h.startedSince(d, up) { // it ran beside the other one
			h.others[name]++
			return nil
		}
		h.rename(name)
	}
	seconds := h.since(d)
	h.out.To, h.last = d.Taken, d.Taken
	if h.recent = append(h.recent, d.Taken); len(h.recent) > mostRecent {
		h.recent = slices.Delete(h.recent, 0, len(h.recent)/2)
	}
	h.out.Samples++
	h.out.Seconds += seconds
	values, _ := h.status.read(d.Status, d.Taken)
	if len(d.Set) > 0 {
		own(server.ReadSet(d.Set), values)
	}
	h.count(values, seconds)
	h.take(ofServer, values, d.Taken)
	h.take("host", h.host.read(d.Host, d.Taken), d.Taken)
	h.rate(seconds, d)
	return nil
}

// startedSince reports whether a server with an uptime in milliseconds was started after the last sample. Its uptime
// follows its clock, so a clock that is set forward changes both.
func (h *history) startedSince(d server.Diagnostics, up float64) bool {
	return up < float64(d.Taken.Sub(h.last).Milliseconds())
}

// since returns the time that a sample adds, 0 after a break.
func (h *history) since(d server.Diagnostics) (seconds float64) {
	if h.last.IsZero() {
		return 0
	}
	between := d.Taken.Sub(h.last)
	up, known := uptimeMillis.Number(d.Status)
	switch {
	case between <= 0:
		h.out.SetBack++
		h.anew()
	case known && (up < h.status.up || h.startedSince(d, up)):
		h.out.Restarts++
		h.anew()
	case between > gapFrom:
		h.gap(h.last, between)
	default:
		return between.Seconds()
	}
	return 0
}

// anew forgets the counters, because they do not continue.
func (h *history) anew() {
	h.status, h.host, h.hour = newStatusReader(), diagnosticReader{}, nil
}

// rename notes that the server has another name after a restart, as in a new container.
func (h *history) rename(name string) {
	if !slices.Contains(h.out.Names, h.out.Server) && len(h.out.Names) < mostNames {
		h.out.Names = append(h.out.Names, h.out.Server)
	}
	h.out.Server = name
}

func (h *history) gap(from time.Time, length time.Duration) {
	h.out.GapCount++
	h.out.Gaps = append(h.out.Gaps, record.DiagnosisGap{From: from, Seconds: length.Seconds()})
	slices.SortStableFunc(h.out.Gaps, func(a, b record.DiagnosisGap) int { return cmp.Compare(b.Seconds, a.Seconds) })
	h.out.Gaps = h.out.Gaps[:min(mostGaps, len(h.out.Gaps))]
}

// count adds the seconds of states.
func (h *history) count(values map[string]float64, seconds float64) {
	if share, ok := values["flow_control.lagged_time"]; ok {
		h.out.FlowControl += min(1, share) * seconds
	} else if values["flow_control.lagged"] > 0 {
		h.out.FlowControl += seconds
	}
	if values["cache.used_share"] >= fullUsed || values["cache.dirty_share"] >= fullDirty {
		h.out.FullCache += seconds
	}
	if values["tickets.read.exhausted"] > 0 || values["tickets.write.exhausted"] > 0 {
		h.out.NoTicket += seconds
	}
}

func (h *history) take(source string, values map[string]float64, at time.Time) {
	if h.minute.sums == nil || at.Sub(h.minute.began) >= time.Minute {
		h.endMinute()
		h.minute = minuteSums{began: at, sums: map[[2]string]*historySum{}}
	}
	for name, x := range values {
		key := [2]string{source, name}
		for _, sums := range []map[[2]string]*historySum{h.sums, h.minute.sums} {
			if sums[key] == nil {
				sums[key] = &historySum{}
			}
			sums[key].add(x, at)
		}
	}
}

// endMinute keeps a minute if it is the busiest one. The rate is that of a whole minute, also if it has gaps.
func (h *history) endMinute() {
	if rate := h.minute.ended / max(h.minute.timed, time.Minute.Seconds()); rate > h.out.PeakRate {
		h.out.PeakRate, h.out.PeakAt, h.peak = rate, h.minute.began, h.minute.sums
	}
}

// rate adds the operations of a second, and keeps once a minute what the server has done until then.
func (h *history) rate(seconds float64, d server.Diagnostics) {
	now := server.ReadActivity(d.Status, nil)
	if grown, restarted := now.Since(h.before); !restarted && seconds > 0 {
		ended := grown.Operations()
		h.ended, h.timed = h.ended+ended, h.timed+seconds
		h.minute.ended, h.minute.timed = h.minute.ended+ended, h.minute.timed+seconds
	}
	h.before = now
	if n := len(h.hour); n == 0 || d.Taken.Sub(h.hour[n-1].at) >= time.Minute {
		h.hour = append(h.hour, activityAt{d.Taken, now})
		for len(h.hour) > 2 && d.Taken.Sub(h.hour[0].at) > time.Hour {
			h.hour = h.hour[1:]
		}
	}
}

// end completes the result.
func (h *history) end() *record.Diagnosis {
	h.endMinute()
	o := &h.out
	if h.timed > 0 {
		o.Rate = h.ended / h.timed
	}
	if o.PeakRate == 0 {
		o.PeakRate, o.PeakAt = o.Rate, o.From
	}
	h.lastHour()
	for _, name := range slices.Sorted(maps.Keys(h.others)) {
		o.Others = append(o.Others, record.DiagnosisOther{Server: name, Samples: h.others[name]})
	}
	o.Others = o.Others[:min(mostNames, len(o.Others))]
	all := h.listed(h.sums)
	o.Anatomy = anatomyOf(all)
	if h.peak != nil {
		o.Peak = anatomyOf(h.listed(h.peak))
	}
	o.Series = all
	return o
}

// lastHour sets the load of the last hour, since the last restart, without the reads that members mirrored.
func (h *history) lastHour() {
	if len(h.hour) < 2 {
		return
	}
	first, last := h.hour[0], h.hour[len(h.hour)-1]
	grown, _ := last.Since(first.Activity)
	grown.Counts["find"] = max(0, grown.Counts["find"]-max(0, grown.Received))
	h.out.LastHour = last.at.Sub(first.at).Seconds()
	h.out.Kinds = map[string]float64{}
	for kind, n := range grown.Counts {
		if n > 0 {
			h.out.Kinds[kind] = n / h.out.LastHour
			h.out.LastRate += n / h.out.LastHour
		}
	}
}

func (h *history) listed(sums map[[2]string]*historySum) (list []record.DiagnosisSeries) {
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		s := sums[key]
		if key[0] == ofServer {
			key[0] += h.out.Server
		}
		list = append(list, record.DiagnosisSeries{MaxAt: s.at, Series: record.Series{Source: key[0], Name: key[1],
			Unit: record.UnitOf(key[1]),
			Mean: s.sum / s.n, Max: s.max, Last: s.last}})
	}
	return list
}

// anatomyOf is where operations were. Nobody knows whether writes waited for the journal, so that is not estimated.
func anatomyOf(list []record.DiagnosisSeries) *anatomy.Anatomy {
	var series []record.Series
	for _, s := range list {
		series = append(series, s.Series)
	}
	r := record.Run{Series: series}
	a := anatomy.Of(anatomy.Sender{}, r.AnatomyServers(record.SeriesValues(series)))
	if a.Operations <= 0 {
		return nil
	}
	return &a
}
