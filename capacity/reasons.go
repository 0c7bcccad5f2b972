package capacity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// checkJournal words what the disk's sync time allows, for workloads whose writes wait for it. It returns false if no
// number of nodes helps.
func (s *sizer) checkJournal() bool {
	waits, possible := false, true
	for _, d := range s.demands {
		sync, from := s.syncTime(d)
		if sync <= 0 || !d.durable || d.writes == 0 {
			continue
		}
		waits = true
		g := measure.GroupCommit{Sync: sync}
		if from == fromProbe {
			g.Square = s.in.Probe.Journal.Square
		}
		d.out.Journal = s.journal(d, g, from)
		possible = s.checkSync(d, g) && possible
	}
	s.doubtProbe()
	if !waits && (s.in.Sync > 0 || s.in.Probe != nil) {
		s.doubt("journal-unused", measure.Note, "no workload waits for the journal, so --fsync and --probe have no effect")
	}
	return possible
}

// syncTime is the time of a sync: the given one, the probe's, or that of the slowest measured server.
func (s *sizer) syncTime(d *demand) (sync time.Duration, from string) {
	if s.in.Sync > 0 {
		return s.in.Sync, "given"
	}
	if p := s.in.Probe; p != nil && p.Journal != nil && p.Journal.Flush != nil {
		return time.Duration(p.Journal.Flush.Mean), fromProbe
	}
	means := served(d.p.trials[0].run, "log.sync_time", func(s record.Series) *float64 { return &s.Mean })
	if len(means) == 0 {
		return 0, ""
	}
	return time.Duration(slices.Max(means)), "serverStatus"
}

// fromProbe is the source of a sync time that plimsoll disk measured.
const fromProbe = "probe"

var syncText = map[string]string{"given": "given, not measured", fromProbe: "measured with one client",
	"serverStatus": "mean of the measured servers"}

// doubtProbe warns if the sync time of the probe is doubtful.
func (s *sizer) doubtProbe() {
	p := s.in.Probe
	switch {
	case p == nil || s.in.Sync > 0:
		return
	case p.Journal == nil || p.Journal.Flush == nil:
		s.doubt("probe-without-journal", measure.Warning, "the probe did not measure the journal, so it is ignored. Run plimsoll disk with --profile journal")
		return
	}
	if p.Verdict == record.Lying || p.Verdict == record.Suspicious {
		s.doubt("probe-durability", measure.Warning, "the probe found its storage %s about durability, so its syncs may be faster than durable ones", p.Verdict)
	}
	if measure.Worst(p.Validity) == measure.Invalid {
		s.doubt("probe-invalid", measure.Warning, "the probe is invalid. See: plimsoll show")
	}
}

// journal computes what a sync time means for a workload.
func (s *sizer) journal(d *demand, g measure.GroupCommit, from string) *record.SizeJournal {
	j := &record.SizeJournal{Sync: int64(g.Sync), From: from, Batch: s.in.Batch, Writes: d.writes}
	if j.Batch == 0 {
		shards := float64(d.nodes) / float64(d.copies)
		j.Batch = max(1, float64(d.p.trials[0].run.Phase("measure").Workers)/shards/2)
	}
	j.Ceiling = g.Ceiling(j.Batch)
	j.Needed = s.commits(d)
	j.Clients = g.Clients(j.Needed)
	j.Mean, j.P99 = int64(g.OpenLatency(j.Needed)), int64(g.Quantile(j.Needed, 0.99))
	if j.Needed > j.Ceiling && s.in.Batch == 0 {
		s.doubt("journal-clients", measure.Warning, "workload %s: %s durable commits per second and shard need %s writing at once if a sync takes %s. The workers of the "+
			"measurement reach %s/s",
			d.w.name, figure.Rate(j.Needed), figure.Plural(j.Clients, "client"), figure.Duration(g.Sync), figure.Rate(j.Ceiling))
	}
	return j
}

// commits is the number of durable commits per second of a shard.
func (s *sizer) commits(d *demand) float64 {
	if rate := s.in.Need.Operations; rate > 0 {
		return rate * d.writes / float64(max(d.shards, 1))
	}
	return d.out.Rate * d.writes * float64(d.copies) / float64(d.nodes)
}

// checkSync refuses objectives that a disk with the given sync time cannot meet. If the time is that of the measured
// servers, the measurement itself shows whether they are met.
func (s *sizer) checkSync(d *demand, g measure.GroupCommit) bool {
	possible := true
	for _, o := range s.in.Need.objectives {
		percent, err := strconv.ParseFloat(strings.TrimPrefix(o.Metric, "p"), 64)
		if err != nil || o.Unit != measure.UnitTime || (o.Op != "<" && o.Op != "<=") || s.in.Sync == 0 {
			continue
		}
		q := percent / 100
		if o.Class == "" { // the slowest of all operations are writes, so the quantile of the writes is a lower one
			q = 1 - (1-q)/d.writes
		} else if !writeClass(o.Class) {
			continue
		}
		rate := s.commits(d)
		if at := g.Quantile(rate, q); q > 0 && float64(at) > o.Limit {
			s.refuse(record.SizeImpossible, fmt.Sprintf("workload %s: with %s durable writes per second and shard on a disk that syncs in %s, %s cannot "+
				"hold, because the journal alone takes %s. Plan a disk that syncs in %s or less", d.w.name, figure.Rate(rate), figure.Duration(g.Sync), o.Text, figure.Duration(at),
				figure.Duration(time.Duration(o.Limit/(1+q)))))
			possible = false
		}
	}
	return possible
}

var assumptionText = map[string]string{
	Linear: "assuming linear scaling", Measured: "which is a measured size",
	Interpolated: "interpolated between two measured sizes", ByLaw: "extrapolated by the fitted scalability law",
	ByPower: "extrapolated from the two largest measured sizes",
}

// explainDemands words what the operations of every workload need.
func (s *sizer) explainDemands() {
	for _, d := range s.demands {
		mean := d.out.Rate
		text := fmt.Sprintf("workload %s: %s did %s/s", d.w.name, figure.Plural(d.nodes, "node"), figure.Rate(mean))
		if d.out.Low != nil {
			text += fmt.Sprintf(" (95 %% interval %s to %s, n = %d)", figure.Rate(*d.out.Low), figure.Rate(*d.out.High), d.out.N)
		} else {
			text += " (n = 1, no interval)"
		}
		text += "; " + d.p.describe()
		if rate := s.in.Need.Operations; rate > 0 {
			text += fmt.Sprintf(". %s/s need %s nodes", figure.Rate(rate), number(d.needed.N))
			switch {
			case d.needed.Known && math.IsInf(d.needed.High, 0):
				text += fmt.Sprintf(" (at least %s)", number(d.needed.Low))
			case d.needed.Known:
				text += fmt.Sprintf(" (%s to %s)", number(d.needed.Low), number(d.needed.High))
			}
			text += ", " + assumptionText[d.needed.Assumption]
		}
		s.reason("%s.", text)
		if m := d.out.Memory; d.keys != nil && m.Hit != nil {
			s.reason("workload %s: keys are %s, so %s of cache for %s of documents give a hit ratio of %s (predicted); the rate holds as long as that does.",
				d.w.name, m.Distribution, figure.Bytes(m.Cache), figure.Bytes(int64(m.Records*m.DocBytes)), figure.Percent(*m.Hit))
			if *m.Hit == 1 {
				s.doubt("all-cached", measure.Warning, "workload %s was measured with all data in the cache, so the size keeps all data in the cache. To need less memory, "+
					"measure with the planned data per node", d.w.name)
			}
		}
		if j := d.out.Journal; j != nil {
			s.reason("workload %s: %s of the operations wait for the journal. With %s per sync (%s) a commit takes %s in the mean and %s at p99 of %s commits/s per shard; a sync that carries %s of them allows %s/s.",
				d.w.name, figure.Percent(j.Writes), figure.Duration(time.Duration(j.Sync)), syncText[j.From],
				figure.Duration(time.Duration(j.Mean)), figure.Duration(time.Duration(j.P99)), figure.Rate(j.Needed),
				number(j.Batch), figure.Rate(j.Ceiling))
		}
		if s.copies() > d.copies {
			s.doubt("copies-unmeasured", measure.Warning, "workload %s was measured with %s of each document, but the answer has %d. The cost of the others (majority, "+
				"replication) was not measured",
				d.w.name, copiesText(d.copies), s.copies())
		}
	}
}

// explainAnswer words what decides, what the disks hold and what happens when a node fails.
func (s *sizer) explainAnswer(a *record.SizeAnswer) {
	what := map[string]string{
		"operations": "The operations decide the number of shards",
		"data":       "One shard holds the data",
		"memory": "Memory decides the number of shards: with fewer, the cache would hold a smaller share of the data than in the " +
			"measurement",
		"disk":    "The disk decides the number of shards: with fewer, a member's data would not fit",
		"journal": "The journal decides the number of shards: with fewer, its syncs would be too slow for the durable writes",
	}[a.Decides]
	text := fmt.Sprintf("%s: %s of %s", what, figure.Plural(a.Shards, "shard"), copiesText(a.Copies))
	if a.AtMost {
		text += " at most, because the measured rate held and more was not tried"
	}
	if a.Spare > 0 {
		text += ", and " + figure.Plural(a.Spare, "spare node")
	}
	s.reason("%s.", text)
	if a.Parts != nil {
		oplog := ""
		if a.Parts.Oplog > 0 {
			oplog = ", " + figure.Bytes(a.Parts.Oplog) + " of oplog"
		}
		s.reason("Each disk holds %s of documents, %s for indexes and pages that are not full, %s of journal%s, and %s stay free.",
			figure.Bytes(a.Parts.Documents), figure.Bytes(a.Parts.Overhead), figure.Bytes(a.Parts.Journal), oplog,
			figure.Bytes(a.Parts.Free))
	}
	fail := "a node fails"
	if f := s.in.Need.Failures; f > 1 {
		fail = figure.Plural(f, "node") + " fail"
	}
	switch f := s.in.Need.Failures; {
	case f == 0:
		s.reason("No node failure is planned for (failures=0): if a node fails, its data is not available until it is back, or the capacity is lower.")
	case a.Spare == 0:
		s.reason("N−1 rule: if %s, its shard still has a majority of its %d members, one of which takes over the whole load, so no spare "+
			"node is needed.", fail, a.Copies)
	default:
		s.reason("N−1 rule: if %s, a spare does the work: with %s of each document no majority is left to elect another member. The data must be where the spare can reach them "+
			"(shared or replicated storage), or be restored first.", fail, copiesText(a.Copies))
	}
	if s.in.Need.Data == 0 {
		s.doubt("data-as-measured", measure.Note, "no data size was given, so it is that of the measurement. Use data=… for another")
	}
}

func copiesText(n int) string {
	if n == 1 {
		return "one copy"
	}
	return fmt.Sprintf("%d copies", n)
}
