package report

import (
	"fmt"
	"io"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// DoctorTitle is the verdict of the doctor in one line.
func DoctorTitle(d *record.Doctor) string {
	counts := map[string]int{}
	for _, f := range d.Findings {
		counts[f.Severity]++
	}
	what := d.Directory
	if d.URI != "" && what != "" {
		what = d.URI + " and " + what
	} else if d.URI != "" {
		what = d.URI
	}
	return fmt.Sprintf("%s: %d critical, %s, %d advised, %d as recommended, %d unknown", what, counts[record.DoctorCritical],
		figure.Plural(counts[record.DoctorWarning], "warning"), counts[record.DoctorAdvice], counts[record.DoctorGood], counts[record.DoctorUnknown])
}

// DoctorSections tell the findings of the doctor to people: what should be changed, then what is good.
func DoctorSections(d *record.Doctor) []Section {
	var list []Section
	for _, severity := range []string{record.DoctorCritical, record.DoctorWarning, record.DoctorAdvice, record.DoctorUnknown} {
		s := Section{Title: severity}
		for _, f := range d.Findings {
			if f.Severity == severity {
				s.Lines = append(s.Lines, doctorLine(f))
			}
		}
		list = appendFilled(list, s)
	}
	good := Section{Title: "as recommended", Table: &Table{Header: []string{"what", "is"}, Left: 2}}
	for _, f := range d.Findings {
		if f.Severity == record.DoctorGood {
			good.Table.row(f.ID, f.Is)
		}
	}
	return appendFilled(list, good)
}

func doctorLine(f record.DoctorFinding) string {
	line := fmt.Sprintf("%s: %s; recommended: %s. Why: %s.", f.ID, f.Is, f.Recommended, f.Why)
	if f.How != "" {
		line += " How: " + f.How + "."
	}
	if f.Effect != "" {
		line += " Measured: " + f.Effect + "."
	}
	return line
}

// DoctorMarkdown prints the findings of the doctor for a pull request or a page.
func DoctorMarkdown(w io.Writer, d *record.Doctor) error {
	return markdown(w, DoctorTitle(d), DoctorSections(d))
}
