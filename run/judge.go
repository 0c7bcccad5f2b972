package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/pathname"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// openRecord creates the record, with everything that is known before the load.
func (r *runner) openRecord() error {
	asked := r.spec
	asked.Out = r.opts.Dir
	w, err := record.CreateRun(r.opts.Dir, r.opts.Tool, asked)
	if err != nil {
		return err
	}
	w.Sign(r.opts.Key)
	r.writer, r.reserve = w, newReserve(r.opts.Dir)
	dirs := map[string]string{"record": r.opts.Dir}
	if r.target.Kind == "embedded" {
		dirs["embedded"] = r.target.Dir
	}
	machine := record.NewEnvironment(dirs)
	r.cores = machine.Cores
	w.SetEnvironment(machine)
	r.beginLab()
	settings := map[string]string{"client": r.spec.Client, "timeout": r.config.Timeout.String()}
	switch {
	case r.target.Kind == "embedded", r.target.Kind == "null":
		settings["client"] = "in-process"
	case r.target.Kind == "http":
		settings["client"] = "rest"
	case r.spec.Via == spec.ViaREST:
		settings["client"] = "rest, and the driver in the service"
	}
	w.SetTarget(record.Target{
		Address: r.target.String(), Kind: r.info.Kind, Version: r.info.Version, Topology: r.lab.topology(r.info.Topology),
		SetName: r.info.SetName, Hosts: r.info.Hosts, Settings: r.info.Settings, Notes: r.info.Notes, Level: r.lab.level(),
		RoundTrip: int64(r.trip),
	})
	w.SetClientSettings(settings)
	w.SetCommand(r.opts.Command)
	r.startWatch()
	return nil
}

// finish judges what was measured and completes the record. err ended the run, nil if it ended as planned.
func (r *runner) finish(err error) (*record.Run, error) {
	r.endWatch()
	r.endLab()
	ending := record.Ending{Status: record.Complete, Ended: r.opts.Now(), Course: CourseOf(&r.report, err)}
	ending.Course.WindowStart += int64(r.shift)
	ending.Course.WindowEnd += int64(r.shift)
	ending.Course.EndedBy = cmp.Or(r.others.EndedBy, ending.Course.EndedBy)
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

func (r *runner) validity(s *measure.Summary, status record.Status) []measure.Finding {
	c := measure.Circumstances{
		Cores:      r.cores,
		InProcess:  !r.target.remote(),
		Remote:     r.others.Remote,
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
		add("failed", measure.Warning, "an error ended the run. The result covers the time until then. "+
			"Remove the cause and run again.")
	}
	if status == record.Interrupted {
		add("interrupted", measure.Warning, "the run was interrupted. The result covers the time until then. Run again for the "+
			"whole time.")
	}
	if r.report.Abandoned > 0 {
		add("abandoned", measure.Warning,
			"%d operations did not return after their deadline and were abandoned. Their workers sent nothing more, so the load was "+
				"lower than specified. Look for a target that accepts connections and does not answer.", r.report.Abandoned)
	}
	if r.target.Kind == "embedded" {
		add("embedded", measure.Note, "the target was plimsoll's embedded store, not MongoDB. The results apply to this "+
			"disk and this machine only. Give the address of a MongoDB to measure one.")
		// A directory that is gone has an error elsewhere.
		if storage, err := device.Here().Storage(r.target.Dir); err == nil && len(storage.Memory) > 0 {
			add("embedded-memory", measure.Warning, "the data of the embedded store are in memory (%s), so reads, writes and flushes "+
				"are faster than those of a disk. Use a directory on the disk that matters.", strings.Join(storage.Memory, ", "))
		}
	}
	if r.service != nil && r.service.lost() {
		add("service-ended", measure.Invalid, "the REST service between load and target ended before the load did. The operations after "+
			"that measured nothing. Look for the cause in the events, and run again.")
	}
	if r.target.StoresNothing() {
		add("null", measure.Note, "the target stores nothing. The results apply to the load generator only. Give the address of a MongoDB "+
			"to measure one.")
	}
	if d := r.concernIgnored(); d != "" && r.lab.level() == "" {
		add("concern-ignored", measure.Note, "the write concern is %s, and FerretDB ignores write concerns. Writes are as durable as "+
			"PostgreSQL's synchronous_commit and synchronous_standby_names make them. Check these two settings.", d)
	}
	// That of a ledger makes what it needs while it runs.
	if f := r.fill; f != nil && f.Skipped && f.Counted < f.Records && !spec.OfDrills(r.spec.Workload.Name) {
		add("short-data", measure.Warning, "the collection had %s documents when the run began, and the workload expects %s. Operations on "+
			"missing documents are cheaper. Load the data, or set --records to the number of documents.",
			figure.Count(f.Counted), figure.Count(f.Records))
	}
	if text := thinkIgnored(r.workload, r.config); text != "" {
		add("think-ignored", measure.Note, "%s", text)
	}
	findings = append(findings, serverFindings(r.writer.Series())...)
	findings = append(findings, unlikeApplication(r.target, r.spec.Client)...)
	findings = append(findings, r.lab.findings(r.cores)...)
	findings = append(findings, r.others.Findings...)
	measure.SortFindings(findings)
	return findings
}

// concernIgnored returns the write concern of the run that the target ignores, "" for none.
func (r *runner) concernIgnored() string {
	if !server.IgnoresConcerns(r.info.Kind) {
		return ""
	}
	c := Concern(r.spec.Durability.At(r.target.URI))
	var asked []string
	if c.W != "" && c.W != "0" && c.W != "1" {
		asked = append(asked, "w: "+c.W)
	}
	if c.Journal != nil && *c.Journal {
		asked = append(asked, "j: true")
	}
	return strings.Join(asked, ", ")
}

// CourseOf is the course of a load that ended with err.
func CourseOf(p *load.Report, err error) record.Course {
	c := record.Course{
		WindowStart: int64(p.From), WindowEnd: int64(p.Until),
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
	case p.Interrupted || p.Aborted:
		c.EndedBy = "interrupt"
	case p.ByCount:
		c.EndedBy = "operations"
	}
	return c
}

// NewRecordDir returns the name of a directory that does not exist yet, for a run without --out.
func NewRecordDir(workload string, now time.Time) string {
	base := filepath.Join(DefaultDir, "runs", now.Format("20060102-150405")+"-"+pathname.Of(workload))
	dir := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || n > 1000 {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}
