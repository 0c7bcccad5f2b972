package report

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

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
				doc.Short = append(doc.Short, Point{doctorGrade(severity), "", fmt.Sprintf("%s: %s; recommended: %s", f.ID, f.Is, f.Recommended)})
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
