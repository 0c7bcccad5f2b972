package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// openRecord begins the record, with everything that is known before the load.
func (r *runner) openRecord() error {
	spec := r.spec
	spec.Out = r.opts.Dir
	w, err := record.CreateRun(r.opts.Dir, r.opts.Tool, spec)
	if err != nil {
		return err
	}
	r.writer, r.reserve = w, newReserve(r.opts.Dir)
	dirs := map[string]string{"record": r.opts.Dir}
	if r.target.Kind == "embedded" {
		dirs["embedded"] = r.target.Dir
	}
	machine := record.NewEnvironment(dirs)
	r.cores = machine.Cores
	w.SetEnvironment(machine)
	r.beginLab()
	w.SetTarget(record.Target{
		Address: r.target.String(), Kind: r.info.Kind, Version: r.info.Version, Topology: r.lab.topology(r.info.Topology),
		SetName: r.info.SetName, Hosts: r.info.Hosts, Settings: r.info.Settings, Notes: r.info.Notes, Level: r.lab.level(),
	})
	w.SetClientSettings(r.clientSettings())
	w.SetCommand(r.opts.Command)
	r.startWatch()
	return nil
}

// clientSettings are the settings of this side that a result depends on.
func (r *runner) clientSettings() map[string]string {
	s := map[string]string{"client": r.spec.Client, "timeout": r.config.Timeout.String()}
	switch {
	case r.target.Kind == "embedded", r.target.Kind == "null":
		s["client"] = "in-process"
	case r.target.Kind == "http":
		s["client"] = "rest"
	case r.spec.Via == spec.ViaREST:
		s["client"] = "rest, and the driver in the service"
	}
	return s
}

// finish judges what was measured and completes the record. err is what ended the run, if it did not
// end by itself.
func (r *runner) finish(err error) (*record.Run, error) {
	r.endWatch()
	r.endLab()
	ending := record.Ending{Status: record.Complete, Ended: r.opts.Now(), Course: r.course(err)}
	switch {
	case err == nil && r.report.Aborted:
		ending.Status = record.Interrupted
	case err != nil && interrupted(err):
		ending.Status = record.Interrupted
	case err != nil:
		ending.Status, ending.Problem = record.Failed, err.Error()
	}
	if measured := r.writer.Summary(load.PhaseMeasure); measured != nil {
		summary := *measured
		summary.Unsent = r.report.Measured.Unsent
		ending.Validity = r.validity(&summary, ending.Status)
		objectives, parseErr := measure.ParseObjectives(strings.Join(r.spec.Objectives, ","))
		if parseErr != nil {
			return nil, at(Specification, parseErr)
		}
		ending.Objectives = measure.EvaluateAll(objectives, &summary)
	}
	r.reserve.release()
	result, writeErr := r.writer.Finish(ending)
	if err == nil && writeErr != nil {
		err = at(Recording, writeErr)
	}
	return result, err
}

// validity collects the reasons to doubt the result.
func (r *runner) validity(s *measure.Summary, status record.Status) []measure.Finding {
	c := measure.Circumstances{
		Cores:      r.cores,
		InProcess:  !r.target.remote(),
		Varying:    len(r.config.Stages) > 0,
		Displaced:  r.report.Displaced,
		Rejected:   r.report.Rejected,
		EventsLost: r.report.EventsLost,
	}
	if r.target.Kind == "mongodb" && r.spec.Via == "" && r.opts.Ceiling != nil {
		c.Ceiling = r.opts.Ceiling.Rate(r.spec.Client)
	}
	findings := measure.Judge(s, c)
	add := func(id string, sev measure.Severity, format string, a ...any) {
		findings = append(findings, measure.Finding{ID: id, Severity: sev, Text: fmt.Sprintf(format, a...)})
	}
	if status == record.Failed {
		add("failed", measure.Warning, "an error ended the run; the result covers only what was measured until then")
	}
	if status == record.Interrupted {
		add("interrupted", measure.Warning, "the run was ended early; the result covers only what was measured until then")
	}
	if r.report.Abandoned > 0 {
		add("abandoned", measure.Warning,
			"%d operations did not return past their deadline and were given up; their workers sent nothing more, so the load was smaller than asked for",
			r.report.Abandoned)
	}
	if r.target.Kind == "embedded" {
		add("embedded", measure.Note, "the target was plimsoll's embedded store, not MongoDB: the figures speak of this disk and this machine only")
	}
	if r.service != nil && r.service.lost() {
		add("service-ended", measure.Invalid, "the REST service between load and target ended by itself before the load did")
	}
	if r.target.storesNothing() {
		add("null", measure.Note, "the target stores nothing: the figures speak of the client only")
	}
	if d := r.concernIgnored(); d != "" && r.lab.level() == "" {
		add("concern-ignored", measure.Note, "%s was asked for, but FerretDB ignores write concerns: writes are as durable as PostgreSQL's "+
			"synchronous_commit and synchronous_standby_names make them, so look at these two", d)
	}
	// That of a ledger makes what it needs while it runs.
	if f := r.fill; f != nil && f.Skipped && f.Counted < f.Records && r.spec.Workload.Name != spec.WorkloadLedger {
		add("short-data", measure.Warning, "the collection held %s documents when the run began, but the workload expects %s: load the data, or say how many there are (--records)",
			figure.Count(f.Counted), figure.Count(f.Records))
	}
	findings = append(findings, serverFindings(r.writer.Series())...)
	findings = append(findings, unlikeApplication(r.target, r.spec.Client)...)
	findings = append(findings, r.lab.findings(r.cores)...)
	findings = append(findings, r.team.Findings...)
	measure.SortFindings(findings)
	return findings
}

// concernIgnored returns the write concern that was asked of a server which has none, as far as it matters.
// FerretDB (seen in 2.7) accepts w:2 on a single server and tags that nobody defined.
func (r *runner) concernIgnored() string {
	if r.info.Kind != "ferretdb" {
		return ""
	}
	c := Concern(r.spec.Durability)
	var asked []string
	if c.W != "" && c.W != "0" && c.W != "1" {
		asked = append(asked, "w: "+c.W)
	}
	if c.Journal != nil && *c.Journal {
		asked = append(asked, "j: true")
	}
	return strings.Join(asked, ", ")
}

// course says how the run went.
func (r *runner) course(err error) record.Course {
	p := r.report
	c := record.Course{
		WindowStart: int64(p.From + r.shift), WindowEnd: int64(p.Until + r.shift),
		Offered: p.Measured.Offered, Sent: p.Measured.Sent, Dropped: p.Measured.Dropped, Unsent: p.Measured.Unsent,
		Flushed: p.Flushed, Verified: p.Verified, Mismatched: p.Mismatch, VerifiedMissing: p.Missing,
		Abandoned: p.Abandoned, Backoffs: p.Backoffs, Displaced: p.Displaced, EventsLost: p.EventsLost,
		EndedBy: "duration",
	}
	switch {
	case err != nil && interrupted(err):
		c.EndedBy = "interrupt"
	case err != nil:
		c.EndedBy = "error"
	case p.Aborted:
		c.EndedBy = "interrupt"
	case p.ByCount:
		c.EndedBy = "operations"
	}
	if r.team.EndedBy != "" {
		c.EndedBy = r.team.EndedBy
	}
	return c
}

// NewRecordDir names a directory that does not exist yet for the record of a run that was not given one.
func NewRecordDir(workload string, now time.Time) string {
	base := filepath.Join(DefaultDir, "runs", now.Format("20060102-150405")+"-"+workload)
	dir := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || n > 1000 {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}
