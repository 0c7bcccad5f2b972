package ycsb

import (
	"context"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// recorder keeps a call as a record (plimsoll.out) for `plimsoll show`, which shows more than YCSB's lines.
type recorder struct {
	writer *record.RunWriter
	inside bool // the target runs in this process
}

// openRecord starts the record before the load.
func (r *call) openRecord(ctx context.Context, st store.Store, dims measure.Dims) (*recorder, error) {
	if r.settings.out == "" {
		return nil, nil
	}
	w, err := record.CreateRun(r.settings.out, r.process.Tool, r.specification())
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"record": r.settings.out}
	if dir := r.props.values["embedded.dir"]; r.url == nil {
		dirs["embedded"] = dir
	}
	w.SetEnvironment(record.NewEnvironment(dirs))
	w.SetCommand(append([]string{"plimsoll", "ycsb"}, r.args.words...))
	info, err := st.Info(ctx)
	if err != nil {
		info.Notes = append(info.Notes, "the description of the target could not be read: "+err.Error())
	}
	w.SetTarget(record.Target{Address: r.address(), Kind: info.Kind, Version: info.Version, Topology: info.Topology,
		SetName: info.SetName, Hosts: info.Hosts, Settings: info.Settings, Notes: info.Notes})
	return &recorder{writer: w, inside: r.url == nil}, w.Begin(dims, time.Now())
}

// address is the target as `plimsoll run` names it.
func (r *call) address() string {
	if r.url == nil {
		return "embedded:" + r.props.values["embedded.dir"]
	}
	return store.Redact(r.url.url)
}

// specification is the equivalent for `plimsoll run`. The properties of the core workload are its parameters. Those of
// the client and of databases are labels, because the specification has what they mean, and comparisons ignore labels.
func (r *call) specification() spec.Run {
	s := spec.Run{Target: "embedded:" + r.props.values["embedded.dir"], Client: r.settings.client,
		Labels: map[string]string{"ycsb": r.args.command}}
	params := map[string]string{}
	core := workload.YCSBProperties()
	for name, value := range r.props.values {
		switch {
		case name == "plimsoll.out": // the record itself
		case slices.ContainsFunc(core, func(p workload.Param) bool { return p.Name == name }):
			params[name] = value
		default:
			s.Labels[name] = store.Redact(value)
		}
	}
	if r.url != nil {
		s.Target, s.Database = r.url.url, r.url.database
	}
	s.Workload = spec.Workload{Name: "ycsb", Mode: "ycsb", Seed: r.settings.seed,
		Records: spec.Count(r.params.Records), Params: params}
	s.Load = spec.Load{Workers: spec.Count(r.settings.threads), Pace: spec.Rate(r.settings.pacePerThread()),
		Duration: spec.Duration(r.settings.maxTime), Operations: spec.Count(r.settings.operations),
		Timeout: spec.Duration(r.settings.timeout)}
	s.LoadPhase.Skip = !r.settings.load
	s.Out = r.settings.out
	return s
}

// A nil recorder records nothing.
func (k *recorder) Interval(iv *measure.Interval) error {
	if k == nil {
		return nil
	}
	return k.writer.Interval(iv)
}

func (k *recorder) Event(e measure.Event) error {
	if k == nil {
		return nil
	}
	return k.writer.Event(e)
}

func (k *recorder) finish(report *load.Report, problem error) error {
	if k == nil {
		return nil
	}
	e := record.Ending{Status: record.Complete, Ended: time.Now(), Course: run.CourseOf(report, problem)}
	switch {
	case problem != nil:
		e.Status, e.Problem = record.Failed, problem.Error()
	case report.Interrupted || report.Aborted:
		e.Status = record.Interrupted
	}
	if s := k.writer.Summary(load.PhaseMeasure); s != nil {
		judged := *s
		judged.Unsent = report.Measured.Unsent
		e.Validity = measure.Judge(&judged, measure.Circumstances{Cores: record.NewEnvironment(nil).Cores,
			InProcess: k.inside,
			Displaced: report.Displaced, Rejected: report.Rejected, EventsLost: report.EventsLost})
	}
	_, err := k.writer.Finish(e)
	return err
}
