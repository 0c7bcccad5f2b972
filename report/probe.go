package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func probeTitle(p *record.Probe) string {
	name := p.Specification.Directory
	if p.Storage.Filesystem == "" && p.Storage.Bytes == 0 {
		return "storage of " + name
	}
	title := fmt.Sprintf("storage of %s (%s)", name, probeStack(p.Storage))
	if p.Class != nil {
		title += prefixed(", like ", p.Class.Name)
	}
	return title
}

// probeVerdict is the word on durability with what it rests on. A lie is proven, whatever the figures are worth.
func probeVerdict(p *record.Probe) string {
	invalid := measure.Worst(p.Validity) == measure.Invalid
	if invalid && p.Verdict != record.Lying {
		return "INVALID"
	}
	if p.Verdict == "" {
		return "durability not measured"
	}
	var grades []string
	for _, d := range p.Durability {
		if d.Verdict == p.Verdict && (p.Verdict != record.Honest || d.Grade != "B") {
			grades = append(grades, d.Grade)
		}
	}
	text := string(p.Verdict) + bracketed(prefixed("grade ", strings.Join(grades, ", ")))
	if invalid {
		text += ", figures INVALID"
	}
	return text
}

// probeStack is the filesystem and the devices below it: "ext4 on loop0 on vda".
func probeStack(s record.ProbeStorage) string {
	text := cmp.Or(s.Filesystem, "unknown filesystem")
	for _, level := range probeLevels(s.Devices) {
		text += " on " + strings.Join(level, " + ")
	}
	for _, what := range append(slices.Clone(s.Memory), s.Unseen...) {
		text += ", " + what
	}
	return text
}

// probeLevels groups devices by how deep they lie.
func probeLevels(list []record.ProbeBlock) [][]string {
	depth := map[string]int{}
	var levels [][]string
	for _, b := range list {
		n := 0
		for _, above := range b.Above {
			n = max(n, depth[above]+1)
		}
		depth[b.Name] = n
		for len(levels) <= n {
			levels = append(levels, nil)
		}
		levels[n] = append(levels[n], b.Name)
	}
	return levels
}

func probeDocument(p *record.Probe, on *probeFiles) *Document {
	d := &Document{Title: probeTitle(p), Brief: probeVerdict(p),
		Grade: gradeOf(p.Validity, p.Status), Problem: p.Problem,
		Objectives: objectivePoints(p.Objectives), Findings: findingPoints(p.Validity), Checks: probeChecks(p)}
	d.conclude(p.Validity, p.Status, probeAnswer(p), figure.Plural(len(p.Steps), "step")+", measured once")
	d.Answer, d.Summary, d.Next = probeAnswer(p), probeSummary(p), reportNext() // its verdict says whether it is invalid
	switch {
	case p.Verdict == record.Lying || slices.ContainsFunc(p.Objectives, func(o measure.ObjectiveResult) bool {
		return !o.Met && !o.Unknown
	}):
		d.Grade = Bad
	case p.Verdict != record.Honest && d.Grade == Good:
		d.Grade = Warn
	}
	if j := p.Journal; j != nil && j.Flush != nil {
		d.Tiles = append(d.Tiles, Tile{"journaled commits", figure.Rate(j.Ceiling) + "/s", figure.Plural(j.Clients, "client")},
			Tile{"j:true", duration(j.One), duration(j.Many) + " among others"})
		if j.Flush.P99 != nil {
			d.Tiles = append(d.Tiles, Tile{"flush p99", duration(*j.Flush.P99), "write and fdatasync"})
		}
		if m := j.Majority; m != nil {
			d.Tiles = append(d.Tiles, Tile{"w:majority", duration(m.One), duration(m.Many) + " among others"})
		}
	}
	for _, r := range p.Ramps {
		note := "with the most threads"
		if r.Threads > 0 {
			note = figure.Plural(r.Threads, "thread") + "; more gain less than " + figure.Percent(r.Gain)
		}
		d.Tiles = append(d.Tiles, Tile{"random " + r.Operation, figure.Rate(r.Rate) + "/s", note})
	}
	class := cmp.Or(p.Class, &record.ProbeClass{})
	d.Facts = Facts("commits", probeCommits(p), "class", class.Text, "class from", class.Provenance, "volume", p.Volume, "storage", probeStack(p.Storage),
		"directory", p.Specification.Directory, "machine", machine(p.Environment), "begun", begun(&p.Head))
	random, journal, checkpoint, sustained := probeRandom(p), probeJournal(p), probeCheckpoint(p), probeSustained(p)
	predicted := predictionSection(p.Prediction)
	if on != nil {
		random.draw(rampFigure(p, true), rampFigure(p, false))
		journal.draw(commitFigure(p), spectrumFigure(p))
		predicted.draw(predictedFigure(p, true), predictedFigure(p, false))
		checkpoint.draw(on.course(p, spec.ProbeCheckpoint))
		sustained.draw(on.course(p, spec.ProbeSustained))
	}
	d.Sections = appendFilled(nil, probeDurability(p), probeRamps(p), random, journal, predicted, probeMajority(p),
		checkpoint, sustained, probeDevices(p), probeStorage(p))
	if on != nil {
		d.Sections = append(d.Sections, on.repeat()...)
	}
	return d
}

// probeChecks are the questions that the figures depend on.
func probeChecks(p *record.Probe) []Point {
	list := []Point{check(p.Status == record.Complete, Warn, figure.Plural(len(p.Steps), "step")+" measured", "not all steps measured")}
	if p.Verdict != "" {
		grade, no := Warn, "flushes not proven"
		if p.Verdict == record.Lying {
			grade, no = Bad, "flushes do not reach the device"
		}
		list = append(list, check(p.Verdict == record.Honest, grade, "flushes reach the device", no))
	}
	if p.Status == record.Complete {
		list = append(list, check(len(p.Validity) == 0, Warn, "nothing disturbed it", figure.Plural(len(p.Validity), "finding")+" about it"))
	}
	return list
}

// probeCommits says what a journaled commit costs here and how many there can be; empty where that was not measured.
func probeCommits(p *record.Probe) string {
	j := p.Journal
	if j == nil || j.Flush == nil {
		return ""
	}
	why := ""
	if float64(j.Many) > 2.2*float64(j.One) {
		why = " (more than two mean flushes, because most commits come while a slow one runs)"
	}
	return fmt.Sprintf("j:true takes %s alone and %s among others%s; the journal carries %s commits/s with %s, and %s/s for each client that waits",
		duration(j.One), duration(j.Many), why, figure.Rate(j.Ceiling), figure.Plural(j.Clients, "client"),
		figure.Rate(1e9/float64(max(j.Many, 1))))
}

// probeLatency are p50, p99, p99.9 and max, with a dash where there are too few values.
func probeLatency(l *record.Latency) []string {
	cells := slices.Repeat([]string{"–"}, 4)
	if l == nil {
		return cells
	}
	for i, q := range []*int64{l.P50, l.P99, l.P999, &l.Max} {
		if q != nil {
			cells[i] = duration(*q)
		}
	}
	return cells
}

func probeDurability(p *record.Probe) Section {
	s := Section{ID: "durability", Title: "durability"}
	for _, d := range p.Durability {
		grade := cmp.Or(map[string]string{"A": "flush accounting", "B": "plausibility", "C": "simulated power cut",
			"R": "data read again"}[d.Grade], "external witness")
		s.Lines = append(s.Lines, fmt.Sprintf("%s, %s: %s. %s. Covers %s; cannot see %s.", d.Grade, grade,
			d.Verdict, Capitalised(d.Text), d.Covers, d.Blind))
	}
	return s
}

func probeRamps(p *record.Probe) Section {
	s := Section{ID: "threads", Title: "threads"}
	for _, r := range p.Ramps {
		if r.Threads == 0 {
			s.Lines = append(s.Lines, fmt.Sprintf("%s: %s/s with the most threads, more than %s better than with any smaller number.", r.Operation, figure.Rate(r.Rate), figure.Percent(r.Gain)))
			continue
		}
		s.Lines = append(s.Lines, fmt.Sprintf("%s: adding threads stops helping at %s (%s/s; no larger number was %s better).", r.Operation,
			figure.Plural(r.Threads, "thread"), figure.Rate(r.Rate), figure.Percent(r.Gain)))
	}
	return s
}

func probeRandom(p *record.Probe) Section {
	s := Section{ID: "random", Title: "random access", Table: &Table{Header: []string{"operation", "threads", "op/s", "MB/s", "p50", "p99", "p99.9", "max", "flushes/op", "writes/op"}}}
	for _, step := range p.ProfileSteps(spec.ProbeRandom) {
		cells := append([]string{fmt.Sprintf("%s %s %s", step.Operation, figure.Bytes(step.Block), step.Mode),
			fmt.Sprint(step.Threads), figure.Rate(step.Rate),
			figure.Significant(step.BytesRate / 1e6)}, probeLatency(step.Latency)...)
		s.Table.row(append(cells, perSync(step)...)...)
	}
	return s
}

// perSync returns the flushes and writes per sync of the device that holds the data, dashes if there is none.
func perSync(step record.ProbeStep) []string {
	if len(step.Devices) == 0 || step.Devices[0].WritesPerSync == nil {
		return []string{"–", "–"}
	}
	d, flushes := step.Devices[0], "–"
	if d.FlushesPerSync != nil {
		flushes = figure.Significant(*d.FlushesPerSync)
	}
	return []string{flushes, figure.Significant(*d.WritesPerSync)}
}

func probeJournal(p *record.Probe) Section {
	s := Section{ID: "journal", Title: "journal", Table: &Table{Header: []string{"clients", "commits/s", "commit mean", "model", "error", "p50", "p99", "max", "flush p50", "flush p99", "commits/flush", "flushes/sync", "writes/sync"}}}
	for _, step := range p.ProfileSteps(spec.ProbeJournal) {
		mean, model, deviation := "–", "–", "–"
		if step.Latency != nil {
			mean = duration(step.Latency.Mean)
		}
		if step.Model != nil {
			model, deviation = duration(step.Model.Latency), fmt.Sprintf("%+.1f %%", 100*step.Model.Error)
		}
		l, f := probeLatency(step.Latency), probeLatency(step.Flush)
		per := "–"
		if step.Flushes > 0 {
			per = figure.Significant(float64(step.Operations) / float64(step.Flushes))
		}
		s.Table.row(append([]string{fmt.Sprint(step.Clients), figure.Rate(step.Rate), mean, model, deviation, l[0], l[1],
			l[3], f[0], f[1], per}, perSync(step)...)...)
	}
	if len(s.Table.Rows) == 0 {
		return s
	}
	s.Lines = []string{"One thread flushes for all; a commit waits for the next flush that begins. Model: one flush (S) for one client, 2S − e for more, with this step's own S and the time e between an acknowledgement and the next commit."}
	return s
}

func probeMajority(p *record.Probe) Section {
	if p.Journal == nil || p.Journal.Majority == nil {
		return Section{}
	}
	m := p.Journal.Majority
	return Section{ID: "majority", Title: "replica set", Lines: []string{fmt.Sprintf(
		"w:majority with journal, %d of %d members: %s alone and %s among others, decided by %s. Not in it: applying the operation on the other members, and the server's own work.",
		m.Needed, m.Members, duration(m.One), duration(m.Many), m.Decided)}}
}

func probeCheckpoint(p *record.Probe) Section {
	c := p.Checkpoint
	if c == nil {
		return Section{}
	}
	s := Section{ID: "checkpoint", Title: "checkpoints", Table: &Table{Header: []string{"", "p50", "p99", "p99.9", "max"}}}
	for _, row := range []struct {
		name string
		l    *record.Latency
	}{{"commits between checkpoints", c.Outside}, {"commits during checkpoints", c.Inside}, {"cache misses between", c.ReadsOutside}, {"cache misses during", c.ReadsInside}} {
		if row.l != nil {
			s.Table.row(append([]string{row.name}, probeLatency(row.l)...)...)
		}
	}
	if c.Checkpoints > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("%s of %s each: %s (writing %s, syncing %s), %s MB/s. To end within the period takes %s MB/s.", figure.Plural(c.Checkpoints, "checkpoint"),
			figure.Bytes(c.Dirty), duration(c.Took), duration(c.WriteTook), duration(c.SyncTook),
			figure.Significant(c.Reached/1e6), figure.Significant(c.Needed/1e6)))
	}
	stalls := fmt.Sprintf("No commit stalled (no pause of more than %s while some waited).", duration(c.StallAfter))
	if c.Stalled > 0 {
		stalls = fmt.Sprintf("Commits stalled for %s in all (pauses of more than %s while some waited).", duration(c.Stalled), duration(c.StallAfter))
	}
	s.Lines = append(s.Lines, fmt.Sprintf("%s %s of %s commits/s were done.", stalls, figure.Rate(c.Done), figure.Rate(c.Asked)))
	return s
}

func probeSustained(p *record.Probe) Section {
	r := p.Sustained
	if r == nil {
		return Section{}
	}
	line := fmt.Sprintf("%s MB/s to the end, with a variation of %s between seconds: no ceiling was hit.", figure.Significant(r.Ceiling/1e6), figure.Percent(r.Variation))
	if r.Fell {
		like := "like a write cache that was full (the cells of an SSD written as SLC, or the memory of a controller)"
		if r.Like == "burst credits" {
			like = "and evenly since then, like burst credits that were used up"
		}
		line = fmt.Sprintf("Fell from %s to %s MB/s after %s, when %s had been written: %s. The ceiling is %s MB/s.", figure.Significant(r.Before/1e6),
			figure.Significant(r.Ceiling/1e6), duration(r.At), figure.Bytes(r.After), like, figure.Significant(r.Ceiling/1e6))
	}
	return Section{ID: "sustained", Title: "sustained writes", Lines: []string{line}}
}

func probeDevices(p *record.Probe) Section {
	s := Section{ID: "devices", Title: "devices", Long: true,
		Table: &Table{Header: append([]string{"step", "device"}, IOStatColumns()...), Left: 2}}
	for _, step := range p.Steps {
		name := step.Profile
		switch name {
		case spec.ProbeRandom:
			name = fmt.Sprintf("%s ×%d", step.Operation, step.Threads)
		case spec.ProbeJournal:
			name = "commit, " + figure.Plural(step.Clients, "client")
		}
		for _, d := range step.Devices {
			s.Table.row(append([]string{name, d.Name}, IOStatCells(d)...)...)
		}
	}
	return s
}

// IOStatColumns are the columns of iostat -x, in its order.
func IOStatColumns() []string {
	return strings.Fields("r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util")
}

// IOStatCells are the figures of a device as iostat -x prints them: two digits behind the point.
func IOStatCells(d record.ProbeDevice) []string {
	values := []float64{d.Reads, d.ReadKB, d.ReadMrg, d.ReadMrgP, d.ReadAwait, d.ReadSize, d.Writes, d.WriteKB, d.WriteMrg,
		d.WriteMrgP, d.WriteAwait, d.WriteSize,
		d.Discards, d.DiscardKB, d.DiscardMrg, d.DiscardMP, d.DiscAwait, d.DiscSize, d.Flushes, d.FlushAwait, d.Queue, d.Util}
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = fmt.Sprintf("%.2f", v)
	}
	return cells
}

func probeStorage(p *record.Probe) Section {
	st := p.Storage
	if st.Filesystem == "" && st.Bytes == 0 {
		return Section{} // it ended before anything was looked at
	}
	s := Section{ID: "storage", Title: "storage", Table: &Table{Header: []string{"device", "kind", "model", "write cache", "scheduler", "read-ahead", "size"}, Left: 7}}
	direct := "O_DIRECT does not work here"
	if st.Direct {
		direct = fmt.Sprintf("O_DIRECT in steps of %s (%s)", figure.Bytes(st.OffsetAlign), st.AlignFrom)
	}
	s.Lines = []string{fmt.Sprintf("%s, mounted with %s; %s of %s free; %s; files of the journal reserved by %s.", probeStack(st), cmp.Or(st.Options, "no options that matter"),
		figure.Bytes(st.Free), figure.Bytes(st.Bytes), direct, cmp.Or(st.Preallocated, "nothing"))}
	for _, b := range st.Devices {
		kind := cmp.Or(b.RAID, b.Kind)
		if b.Rotational {
			kind += ", rotational"
		}
		s.Table.row(b.Name, kind, strings.TrimSpace(b.Vendor+" "+b.Model), cmp.Or(b.WriteCache, "–"),
			cmp.Or(b.Scheduler, "–"), fmt.Sprintf("%d KiB", b.ReadAheadKiB), figure.Bytes(b.Bytes))
	}
	return s
}

// probeAnswer says whether storage keeps what it confirms, and what a journaled commit costs there.
func probeAnswer(p *record.Probe) string {
	text := probeVerdict(p)
	switch {
	case p.Verdict == record.Lying:
		return "LYING disk" + strings.TrimPrefix(text, string(p.Verdict)) + ": it confirms flushes that do not reach it"
	case p.Status == record.Failed:
		text = "not measured to the end"
	case p.Storage.Filesystem == "" && p.Storage.Bytes == 0:
		return "nothing was measured"
	}
	journal := ""
	if j := p.Journal; j != nil && j.Flush != nil {
		journal = fmt.Sprintf("j:true takes %s, %s commits/s", duration(j.One), figure.Rate(j.Ceiling))
	}
	if grade, ok := strings.CutPrefix(text, string(record.NotProvable)); ok {
		return join("; ", journal, "whether flushes reach the disk is not provable here"+grade)
	}
	return join("; ", text, journal)
}

// probeSummary has a row for each use of storage: the journal, random access, checkpoints and sustained writes.
func probeSummary(p *record.Probe) *Table {
	t := &Table{Header: []string{"use", "rate", "p50", "p99", "with"}, Last: 1}
	if j := p.Journal; j != nil && j.Flush != nil {
		l := probeLatency(j.Flush)
		t.row("journal (flushes)", figure.Rate(j.Ceiling)+" commits/s", l[0], l[1], figure.Plural(j.Clients, "client"))
	}
	for _, operation := range []string{"read", "write"} {
		if s := fastest(p, operation); s != nil {
			l := probeLatency(s.Latency)
			t.row(join(" of ", "random "+operation+"s", bytesOr(s.Block, "")), figure.Rate(s.Rate)+"/s", l[0], l[1],
				figure.Plural(s.Threads, "thread"))
		}
	}
	if c := p.Checkpoint; c != nil && c.Checkpoints > 0 {
		l := probeLatency(c.Inside)
		t.row("commits during checkpoints", figure.Significant(c.Reached/1e6)+" MB/s", l[0], l[1], figure.Plural(c.Checkpoints, "checkpoint"))
	}
	if s := p.Sustained; s != nil {
		t.row("sustained writes", figure.Significant(s.Ceiling/1e6)+" MB/s", "–", "–", spec.ProbeSustained)
	}
	return t
}
