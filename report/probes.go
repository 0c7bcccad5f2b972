package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Probes are probes of several places, such as nodes and StorageClasses, side by side.
type Probes struct {
	Names  []string
	Probes []*record.Probe
	// Failed are the places that were not probed, and why.
	Failed []string
}

func probesDocument(ps *Probes) *Document {
	d := &Document{Title: figure.Plural(len(ps.Probes), "probe") + " of storage", Grade: Good}
	for i, p := range ps.Probes {
		one := probeDocument(p, nil)
		d.Findings = append(d.Findings, Point{one.Grade, ps.Names[i], one.Answer})
		for _, f := range slices.Concat(one.Objectives, one.Findings) {
			if f.Grade != Good && f.Grade != Note {
				d.Findings = append(d.Findings, Point{f.Grade, ps.Names[i], f.Text})
			}
		}
	}
	for _, why := range ps.Failed {
		d.Findings = append(d.Findings, Point{Bad, "not probed", why})
	}
	for _, f := range d.Findings {
		if f.Grade == Bad || f.Grade == Warn && d.Grade == Good {
			d.Grade = f.Grade
		}
	}
	d.conclude(nil, record.Complete, probesAnswer(ps), "each place measured once", d.Findings...)
	d.Summary = ps.Table()
	d.Sections = appendFilled(nil, Section{ID: "probes", Title: "side by side", Table: ps.Table(),
		Lines: []string{"Each place is measured once, one after the other. Repeat the probes before you trust a difference of less " +
			"than 10 %."}})
	return d
}

// probesAnswer names the place with the most commits, and those that lie.
func probesAnswer(ps *Probes) string {
	var lying []string
	best := -1
	for i, p := range ps.Probes {
		if p.Verdict == record.Lying {
			lying = append(lying, ps.Names[i])
		} else if j := p.Journal; j != nil && (best < 0 || j.Ceiling > ps.Probes[best].Journal.Ceiling) {
			best = i
		}
	}
	text := prefixed("LYING disks: ", strings.Join(lying, ", "))
	if best >= 0 {
		text = join("; ", text, fmt.Sprintf("%s does the most commits: %s/s", ps.Names[best], figure.Rate(ps.Probes[best].Journal.Ceiling)))
	}
	return cmp.Or(text, figure.Plural(len(ps.Probes), "probe")+" of storage")
}

// Table has a row for each probe, and the columns that one of them has a value for.
func (ps *Probes) Table() *Table {
	t := &Table{Header: []string{"", "durability", "behaves like", "j:true", "flush p99", "commits/s", "random read/s", "read p99",
		"random write/s", "write p99", "checkpoint MB/s", "sustained MB/s"}, Left: 3}
	for i, p := range ps.Probes {
		class := cmp.Or(p.Class, &record.ProbeClass{Name: "–"}).Name
		row := append([]string{ps.Names[i], cmp.Or(string(p.Verdict), "–"), class}, slices.Repeat([]string{"–"}, 9)...)
		if j := p.Journal; j != nil && j.Flush != nil {
			row[3], row[4], row[5] = duration(j.One), probeLatency(j.Flush)[1], figure.Rate(j.Ceiling)
		}
		for at, operation := range map[int]string{6: "read", 8: "write"} {
			if s := fastest(p, operation); s != nil {
				row[at], row[at+1] = figure.Rate(s.Rate), probeLatency(s.Latency)[1]
			}
		}
		if c := p.Checkpoint; c != nil {
			row[10] = figure.Significant(c.Reached / 1e6)
		}
		if s := p.Sustained; s != nil {
			row[11] = figure.Significant(s.Ceiling / 1e6)
		}
		t.row(row...)
	}
	t.dropEmpty()
	return t
}

// fastest is the step of random access with the highest rate, nil if there is none.
func fastest(p *record.Probe, operation string) (best *record.ProbeStep) {
	for _, s := range p.ProfileSteps(spec.ProbeRandom) {
		if s.Operation == operation && (best == nil || s.Rate > best.Rate) {
			best = &s
		}
	}
	return best
}

// Doctors are what the doctor found in several places, such as nodes and StorageClasses.
type Doctors struct {
	Names   []string
	Doctors []*record.Doctor
	// Failed are the places that were not examined, and why.
	Failed []string
}

func doctorsDocument(ds *Doctors) *Document {
	d := &Document{Title: figure.Plural(len(ds.Doctors), "place") + " examined"}
	d.Answer, d.Sure = d.Title, "settings as they are now; nothing was measured"
	for _, why := range ds.Failed {
		d.Findings = append(d.Findings, Point{Bad, "not examined", why})
	}
	checks := Section{ID: "checks", Title: "checks", Table: &Table{Header: append([]string{"check"}, ds.Names...),
		Left: 1 + len(ds.Names)}}
	rows := map[string]int{}
	places := map[string][]string{} // by the text of a finding
	texts := map[string][]string{}  // by its severity
	for i, of := range ds.Doctors {
		for _, f := range of.Findings {
			if _, ok := rows[f.ID]; !ok {
				rows[f.ID] = len(checks.Table.Rows)
				checks.Table.row(append([]string{f.ID}, slices.Repeat([]string{"–"}, len(ds.Names))...)...)
			}
			checks.Table.Rows[rows[f.ID]][1+i] = f.Severity
			line := doctorLine(f)
			if places[line] == nil {
				texts[f.Severity] = append(texts[f.Severity], line)
			}
			places[line] = append(places[line], ds.Names[i])
		}
	}
	slices.SortFunc(checks.Table.Rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	d.Summary, d.Short = checks.Table, d.Findings
	d.Sections = appendFilled(nil, checks)
	for _, severity := range []string{record.DoctorCritical, record.DoctorWarning, record.DoctorAdvice,
		record.DoctorUnknown} {
		s := Section{Title: severity}
		for _, line := range texts[severity] {
			where := "everywhere"
			if len(places[line]) < len(ds.Names) {
				where = strings.Join(places[line], ", ")
			}
			s.Lines = append(s.Lines, fmt.Sprintf("%s (%s)", line, where))
		}
		d.Sections = appendFilled(d.Sections, s)
	}
	return d
}

func probesKind() *kind {
	k := kindOf("a list of probes", figureless(probesDocument))
	k.value = typed(func(ps *Probes) any { return ps.Probes })
	return k
}

func doctorKind() *kind { return kindOf("an examination", figureless(doctorDocument)) }

func doctorsKind() *kind {
	k := kindOf("a list of examinations", figureless(doctorsDocument))
	k.value = typed(func(ds *Doctors) any { return ds.Doctors })
	return k
}

func doctorDocument(d *record.Doctor) *Document {
	counts := map[string]int{}
	for _, f := range d.Findings {
		counts[f.Severity]++
	}
	directory := d.Directory
	if directory == "." {
		directory = "this directory"
	}
	doc := &Document{Title: fmt.Sprintf("%s: %d critical, %s, %d advised, %d as recommended, %d unknown", join(" and ", d.URI, directory),
		counts[record.DoctorCritical], figure.Plural(counts[record.DoctorWarning], "warning"), counts[record.DoctorAdvice],
		counts[record.DoctorGood], counts[record.DoctorUnknown])}
	doc.Answer, doc.Sure = doc.Title, "settings as they are now; nothing was measured"
	for _, severity := range []string{record.DoctorCritical, record.DoctorWarning, record.DoctorAdvice,
		record.DoctorUnknown} {
		s := Section{Title: severity}
		for _, f := range d.Findings {
			if f.Severity == severity {
				s.Lines = append(s.Lines, doctorLine(f))
				is, _, _ := strings.Cut(f.Is, ", ")
				doc.Short = append(doc.Short, Point{doctorGrade(severity), "", f.ID + ": " + is + "; recommended: " + f.Recommended})
			}
		}
		doc.Sections = appendFilled(doc.Sections, s)
	}
	if len(doc.Short) > 0 {
		doc.Grade = doc.Short[0].Grade
	}
	good := Section{Title: "as recommended", Table: &Table{Header: []string{"what", "is"}, Left: 2}}
	for _, f := range d.Findings {
		if f.Severity == record.DoctorGood {
			good.Table.row(f.ID, f.Is)
		}
	}
	doc.Sections = appendFilled(doc.Sections, good)
	return doc
}

func doctorGrade(severity string) Grade {
	switch severity {
	case record.DoctorCritical:
		return Bad
	case record.DoctorWarning:
		return Warn
	}
	return Note
}

func doctorLine(f record.DoctorFinding) string {
	return join(". ", fmt.Sprintf("%s: %s; recommended: %s. Why: %s", f.ID, f.Is, f.Recommended, f.Why),
		prefixed("How: ", f.How), prefixed("Measured: ", f.Effect)) + "."
}
