package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
	"github.com/plimsoll-bench/plimsoll/server"
)

// Values returns the value of a series by source and name, false if it is unknown.
type Values func(source, name string) (float64, bool)

// SeriesValues are the means of series.
func SeriesValues(list []Series) Values {
	all := map[seriesKey]float64{}
	for _, s := range list {
		all[seriesKey{s.Source, s.Name}] = s.Mean
	}
	return func(source, name string) (float64, bool) {
		x, ok := all[seriesKey{source, name}]
		return x, ok
	}
}

// findAnatomy returns where the mean service time of the measured phase went, nil without a MongoDB whose
// servers were read, or a measured phase.
func (r *Run) findAnatomy() *anatomy.Anatomy {
	p := r.Phase("measure")
	if p == nil || p.LittleInFlight <= 0 || r.Target.Kind != "mongod" && r.Target.Kind != "mongos" {
		return nil
	}
	sender := anatomy.Sender{InFlight: p.LittleInFlight}
	if p.All.Service != nil {
		sender.Service = time.Duration(p.All.Service.Mean)
	}
	if p.Noticed != nil && p.Bare != nil {
		sender.Own = max(0, p.Noticed.Mean-p.Bare.Mean) / 1e9 * p.Rates.Attempted
	}
	a := anatomy.Of(sender, r.AnatomyServers(SeriesValues(r.Series)))
	if len(a.Servers) == 0 {
		return nil
	}
	return &a
}

// counted are the places and the statistics of serverStatus that count their time. Those of a place are added, or the
// largest counts where one contains another.
var counted = []struct {
	place   anatomy.Place
	largest bool
	names   []string
}{
	{anatomy.Tickets, false, []string{"waiting.read_tickets", "waiting.write_tickets"}},
	{anatomy.Locks, false, []string{"waiting.global_locks", "waiting.collection_locks", "waiting.engine_locks"}},
	{anatomy.FlowControl, false, []string{"waiting.flow_control"}},
	{anatomy.Conflicts, false, []string{"waiting.prepared"}},
	{anatomy.PageReads, false, []string{"waiting.page_reads"}},
	{anatomy.Eviction, true, []string{"waiting.cache", "waiting.evicting", "waiting.page_writes"}},
	{anatomy.Replication, false, []string{"waiting.write_concern"}},
}

// AnatomyServers returns what the servers of a run count, by the values of their series.
func (r *Run) AnatomyServers(of Values) []anatomy.Server {
	var list []anatomy.Server
	for _, source := range r.serverSources() {
		get := func(name string) float64 { x, _ := of(source, name); return x }
		_, has := of(source, "cache.max")
		s := anatomy.Server{Name: strings.TrimPrefix(source, "server:"), Router: !has && r.Target.Kind == "mongos",
			Places: map[anatomy.Place]float64{},
			Load: get("load.reads") + get("load.writes") +
				get("load.commands"), CPU: get("cpu.used"), Waited: get("cpu.waiting"),
			Queued: get("queue.readers") + get("queue.writers"),
			Writes: get("ended.writes"), Conflicts: max(get("write_conflicts"), get("update_conflicts")),
			Sync: time.Duration(get("log.sync_time"))}
		if r.waitsForJournal() {
			s.Synced = s.Writes
		}
		for _, c := range counted {
			for _, name := range c.names {
				x, ok := of(source, name)
				switch {
				case !ok && has:
					s.NotCounted = uncounted(s.NotCounted, c.place, name)
				case ok && c.largest:
					s.Places[c.place] = max(s.Places[c.place], x)
				case ok:
					s.Places[c.place] += x
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// uncounted notes that a server does not count the time of a place, with the release that does.
func uncounted(list []string, place anatomy.Place, name string) []string {
	x, _ := server.StatisticNamed(name)
	if x.Since() == "" {
		return list
	}
	text := fmt.Sprintf("%s (counted since MongoDB %s)", place, x.Since())
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

func (r *Run) serverSources() (list []string) {
	for _, s := range r.Series {
		if strings.HasPrefix(s.Source, "server:") && !slices.Contains(list, s.Source) {
			list = append(list, s.Source)
		}
	}
	return list
}

// waitsForJournal says whether the primary waits for its own journal before it acknowledges a write, outside of the
// time that it counts as replication: with j: true, and with a majority before 6.0.
func (r *Run) waitsForJournal() bool {
	d := r.Specification.Durability.At(r.Specification.Target)
	before, _ := server.ParseVersion(r.Target.Version)
	old := before.Known() && !before.AtLeast(6, 0)
	if d.W == "majority" {
		return old && (d.Journal == nil || *d.Journal)
	}
	return d.Journal != nil && *d.Journal
}
