package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/store"
)

// startWatch starts sampling this machine, the load processes, the service and the server. One of several clients
// samples itself only, and its machine if it has one of its own.
func (r *runner) startWatch() {
	share := r.opts.share()
	var sources []observe.Source
	if client, err := observe.NewClient(r.opts.Others.processes()); err == nil { // not on every system
		sources = append(sources, client)
	}
	if r.service != nil && r.service.PID > 0 {
		if service, err := observe.NewService(r.service.PID); err == nil {
			sources = append(sources, service)
		}
	}
	if host, err := observe.NewHost(); err == nil && (share.Clients <= 1 || share.Remote) {
		sources = append(sources, host)
	}
	if share.Clients <= 1 {
		switch {
		case r.lab != nil:
			sources = append(sources, r.lab.sources(r)...)
		case r.target.Kind == "mongodb":
			name := r.target.String() // if the server does not report its own
			if len(r.info.Hosts) > 0 {
				name = r.info.Hosts[0]
			}
			direct := false
			if a, err := mongouri.Parse(r.target.URI); err == nil {
				value, _ := a.Option("directConnection")
				direct = value == "true"
			}
			r.watch.FollowDeployment(observe.Every, observe.Deployment{Address: name, Open: r.openWatched, Direct: direct,
				Member: func(address string) (observe.Opener, error) {
					return r.openMember(r.target.URI, address)
				}})
		}
	}
	r.watch.Follow(observe.Every, sources...)
	r.watch.Follow(observe.MetricsEvery, r.metrics...)
}

// openMetrics opens what the specification says to observe beside the target.
func (r *runner) openMetrics(ctx context.Context) error {
	o := r.spec.Observe
	if o == nil {
		return nil
	}
	if err := permit.Check(ctx, permit.Read, "the files of observe"); err != nil {
		return err
	}
	for _, f := range o.CSV {
		ahead, err := f.Ahead()
		if err != nil {
			return err
		}
		source, err := observe.NewValueFile(f.File, ahead)
		if err != nil {
			return err
		}
		r.metrics = append(r.metrics, source)
	}
	if o.Prometheus == nil {
		return nil
	}
	login, err := r.prometheusLogin(o.Prometheus.Credentials)
	if err != nil {
		return fmt.Errorf("observe.prometheus.credentials: %w", err)
	}
	list, err := observe.NewPrometheus(ctx, o.Prometheus.URL, login, o.Prometheus.Queries)
	r.metrics = append(r.metrics, list...)
	return err
}

// prometheusLogin reads the credentials from the environment or from a file.
func (r *runner) prometheusLogin(credentials string) (login string, err error) {
	name, variable := strings.CutPrefix(credentials, "env:")
	switch {
	case credentials == "":
		return "", nil
	case variable && r.opts.Getenv != nil:
		login = r.opts.Getenv(name)
	case !variable:
		if login, err = safeopen.ReadSecret(credentials); err != nil {
			return "", err
		}
	}
	if login = strings.TrimSpace(login); login == "" || strings.ContainsAny(login, "\r\n") {
		return "", fmt.Errorf("%s does not have one line with a bearer token or USER:PASSWORD", credentials)
	}
	return login, nil
}

// openWatched opens a second connection, so that sampling shares nothing with the load.
func (r *runner) openWatched(ctx context.Context) (store.Store, error) {
	cfg := store.Config{Database: r.spec.Database, Sessions: 1, Timeout: r.config.Timeout}
	return r.target.Open(ctx, r.spec.Client, cfg, nil)
}

// openMember opens one server of a deployment, with the deployment's credentials and options.
func (r *runner) openMember(deployment, address string) (observe.Opener, error) {
	uri, err := MemberURI(deployment, address)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (store.Store, error) {
		cfg := store.Config{Database: r.spec.Database, Sessions: 1, Timeout: r.config.Timeout}
		return Target{Kind: "mongodb", URI: uri}.Open(ctx, r.spec.Client, cfg, nil)
	}, nil
}

// discardSamples discards what the watch saw before the first load, which is not in the record.
func (r *runner) discardSamples() {
	if r.begun.IsZero() {
		_, _, _ = r.watch.Take()
	}
}

// recordWatched writes what the watch saw to the record, on the clock of the record.
func (t *tee) recordWatched() error {
	r := t.run
	samples, events, lost := r.watch.Take()
	r.unseen += lost
	for _, e := range events {
		if e.Time.Before(r.begun) {
			continue // servers found while opening the target
		}
		r.lab.saw(e)
		told := measure.Event{At: e.Time.Sub(r.begun) - r.shift, Kind: e.Kind, Text: e.Text, Data: e.Data}
		r.opts.Progress.Event(told)
		if err := r.writer.Event(told); err != nil {
			return err
		}
	}
	var list []record.Sample
	for _, s := range samples {
		if !s.Time.Before(r.begun) {
			list = append(list, s.Record(r.begun))
		}
	}
	return r.writer.Samples(list)
}

// endWatch stops the watch and records its last samples. The record notes by itself if it cannot be written.
func (r *runner) endWatch() {
	r.watch.Stop()
	if !r.begun.IsZero() {
		_ = (&tee{run: r}).recordWatched()
	}
	for _, note := range r.watch.Notes() {
		r.writer.AddNote(note)
	}
	r.report.EventsLost += r.unseen
}
