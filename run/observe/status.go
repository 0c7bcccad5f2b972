package observe

import (
	"math"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// field is the paths of a field in different versions of servers. The first existing one counts.
type field [][]string

func at(paths ...string) field {
	var f field
	for _, p := range paths {
		f = append(f, strings.Split(p, "/"))
	}
	return f
}

// number returns the value of a field of any numeric type.
func (f field) number(doc bson.Raw) (float64, bool) {
	for _, path := range f {
		v, err := doc.LookupErr(path...)
		if err != nil {
			continue
		}
		if x, ok := numeric(v); ok {
			return x, true
		}
	}
	return 0, false
}

// numeric reads a number, a boolean or a date (as milliseconds) of any BSON type.
func numeric(v bson.RawValue) (float64, bool) {
	if x, ok := v.DoubleOK(); ok {
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	if n, ok := v.AsInt64OK(); ok {
		return float64(n), true
	}
	if b, ok := v.BooleanOK(); ok {
		return toNumber(b), true
	}
	if ms, ok := v.DateTimeOK(); ok {
		return float64(ms), true
	}
	return 0, false
}

func toNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The fields of serverStatus that mongostat and dashboards show. 7.x moved the tickets, 8.0 the checkpoints and the
// queues.
var (
	gauges = map[string]field{
		"connections.current":     at("connections/current"),
		"connections.available":   at("connections/available"),
		"connections.active":      at("connections/active"),
		"queue.readers":           at("globalLock/currentQueue/readers"),
		"queue.writers":           at("globalLock/currentQueue/writers"),
		"active.readers":          at("globalLock/activeClients/readers"),
		"active.writers":          at("globalLock/activeClients/writers"),
		"cache.used":              at("wiredTiger/cache/bytes currently in the cache"),
		"cache.dirty":             at("wiredTiger/cache/tracked dirty bytes in the cache"),
		"cache.max":               at("wiredTiger/cache/maximum bytes configured"),
		"checkpoint.running":      at("wiredTiger/transaction/transaction checkpoint currently running", "wiredTiger/checkpoint/currently running"),
		"tickets.read.out":        at("queues/execution/read/out", "wiredTiger/concurrentTransactions/read/out"),
		"tickets.read.available":  at("queues/execution/read/available", "wiredTiger/concurrentTransactions/read/available"),
		"tickets.write.out":       at("queues/execution/write/out", "wiredTiger/concurrentTransactions/write/out"),
		"tickets.write.available": at("queues/execution/write/available", "wiredTiger/concurrentTransactions/write/available"),
		"flow_control.lagged":     at("flowControl/isLagged"),
		"flow_control.limit":      at("flowControl/targetRateLimit"),
		"repl.buffer.operations":  at("metrics/repl/buffer/apply/count", "metrics/repl/buffer/count"),
		"repl.buffer.size":        at("metrics/repl/buffer/apply/sizeBytes", "metrics/repl/buffer/sizeBytes"),
		"memory.allocated":        at("tcmalloc/generic/current_allocated_bytes"),
		"memory.heap":             at("tcmalloc/generic/heap_size"),
	}
	counters = map[string]field{
		"opcounters.insert":            at("opcounters/insert"),
		"opcounters.query":             at("opcounters/query"),
		"opcounters.update":            at("opcounters/update"),
		"opcounters.delete":            at("opcounters/delete"),
		"opcounters.getmore":           at("opcounters/getmore"),
		"opcounters.command":           at("opcounters/command"),
		"network.received":             at("network/bytesIn"),
		"network.sent":                 at("network/bytesOut"),
		"network.requests":             at("network/numRequests"),
		"cache.pages_read":             at("wiredTiger/cache/pages read into cache"),
		"cache.pages_requested":        at("wiredTiger/cache/pages requested from the cache"),
		"cache.read_bytes":             at("wiredTiger/cache/bytes read into cache"),
		"cache.written_bytes":          at("wiredTiger/cache/bytes written from cache"),
		"cache.evicted_by_application": at("wiredTiger/cache/pages evicted by application threads"),
		"log.syncs":                    at("wiredTiger/log/log sync operations"),
		"log.written_bytes":            at("wiredTiger/log/log bytes written"),
		"page_faults":                  at("extra_info/page_faults"),
		"write_conflicts":              at("metrics/operation/writeConflicts"),
		"repl.applied":                 at("metrics/repl/apply/ops"),
		"repl.fetched":                 at("metrics/repl/network/ops"),
		"repl.fetched_bytes":           at("metrics/repl/network/bytes"),
		"capacity.read_bytes":          at("wiredTiger/capacity/bytes read"),
		"capacity.checkpoint_bytes":    at("wiredTiger/capacity/bytes written for checkpoint"),
		"capacity.eviction_bytes":      at("wiredTiger/capacity/bytes written for eviction"),
		"capacity.log_bytes":           at("wiredTiger/capacity/bytes written for log"),
	}
	// timed are counters of microseconds: mean number of waiting threads, or share of a state, since the last sample.
	timed = map[string]field{
		"flow_control.waiting":     at("flowControl/timeAcquiringMicros"),
		"flow_control.lagged_time": at("flowControl/isLaggedTimeMicros"),
		"capacity.waiting":         at("wiredTiger/capacity/time waiting due to total capacity (usecs)"),
	}
	// averages are counters of time and of events: the mean time of an event since the last sample.
	averages = map[string]average{
		"latency.reads":    {at("opLatencies/reads/latency"), at("opLatencies/reads/ops"), time.Microsecond},
		"latency.writes":   {at("opLatencies/writes/latency"), at("opLatencies/writes/ops"), time.Microsecond},
		"latency.commands": {at("opLatencies/commands/latency"), at("opLatencies/commands/ops"), time.Microsecond},
		"latency.transactions": {at("opLatencies/transactions/latency"), at("opLatencies/transactions/ops"),
			time.Microsecond},
		"repl.batch_time": {at("metrics/repl/apply/batches/totalMillis"), at("metrics/repl/apply/batches/num"), time.Millisecond},
		"log.sync_time":   {at("wiredTiger/log/log sync time duration (usecs)"), at("wiredTiger/log/log sync operations"), time.Microsecond},
	}
	evictedClean     = at("wiredTiger/cache/unmodified pages evicted")
	evictedDirty     = at("wiredTiger/cache/modified pages evicted")
	residentMiB      = at("mem/resident")
	checkpointCount  = at("wiredTiger/transaction/transaction checkpoints", "wiredTiger/checkpoint/total succeed number of checkpoints")
	checkpointRecent = at("wiredTiger/transaction/transaction checkpoint most recent time (msecs)", "wiredTiger/checkpoint/most recent time (msecs)")
	checkpointState  = at("wiredTiger/checkpoint/progress state") // 0 if none is running
	uptimeMillis     = at("uptimeMillis")
	writablePrimary  = at("repl/isWritablePrimary", "repl/ismaster")
)

// noLimit is the limit of flow control while it does not limit (flow_control.cpp: kMaxTickets).
const noLimit = 1e9

// average is a mean time: the total, what it is of, and its unit.
type average struct {
	total, of field
	unit      time.Duration
}

// statusReader turns serverStatus documents of one server into values.
type statusReader struct {
	rates       rates
	server      string
	up          float64
	checkpoints float64 // at the last sample, negative before the first
}

func newStatusReader() *statusReader { return &statusReader{checkpoints: -1} }

// read reads one document. Missing fields are left out.
func (r *statusReader) read(doc bson.Raw, now time.Time) (values map[string]float64, events []Event) {
	r.recognise(doc)
	values = map[string]float64{}
	for name, f := range gauges {
		if x, ok := f.number(doc); ok {
			values[name] = x
		}
	}
	r.rates.begin(now)
	for name, f := range counters {
		if x, ok := f.number(doc); ok {
			r.rates.perSecond(values, name, x)
		}
	}
	for name, f := range timed {
		if x, ok := f.number(doc); ok {
			r.rates.perSecond(values, name, x/1e6)
		}
	}
	for name, a := range averages {
		total, ok1 := a.total.number(doc)
		of, ok2 := a.of.number(doc)
		if ok1 && ok2 {
			r.rates.mean(values, name, total, of, a.unit)
		}
	}
	r.derived(doc, values)
	events = r.checkpoint(doc, values, now)
	r.rates.end()
	return values, events
}

// recognise resets the counters if another server replies, or the same one was restarted.
func (r *statusReader) recognise(doc bson.Raw) {
	server, _ := doc.Lookup("host").StringValueOK()
	up, known := uptimeMillis.number(doc)
	if server != r.server || known && up < r.up {
		r.rates = rates{}
		r.checkpoints = -1
	}
	r.server, r.up = server, up
}

// derived adds values of several fields.
func (r *statusReader) derived(doc bson.Raw, values map[string]float64) {
	if values["flow_control.lagged"] > 0 { // the writes during flow control
		if _, known := values["opcounters.insert"]; known {
			values["flow_control.writes"] = values["opcounters.insert"] + values["opcounters.update"] + values["opcounters.delete"]
		}
	}
	if values["flow_control.limit"] >= noLimit {
		delete(values, "flow_control.limit")
	}
	for _, kind := range []string{"read", "write"} {
		if free, ok := values["tickets."+kind+".available"]; ok {
			values["tickets."+kind+".exhausted"] = toNumber(free <= 0)
		}
	}
	if x, ok := residentMiB.number(doc); ok {
		values["memory.resident"] = x * (1 << 20)
	}
	clean, ok1 := evictedClean.number(doc)
	dirty, ok2 := evictedDirty.number(doc)
	if ok1 && ok2 {
		r.rates.perSecond(values, "cache.evicted", clean+dirty)
	}
	if requested := values["cache.pages_requested"]; requested > 0 {
		values["cache.hit_ratio"] = max(0, 1-values["cache.pages_read"]/requested)
	}
	if full := values["cache.max"]; full > 0 {
		for _, kind := range []string{"used", "dirty"} {
			if x, ok := values["cache."+kind]; ok {
				values["cache."+kind+"_share"] = x / full
			}
		}
	}
	if x, ok := checkpointState.number(doc); ok {
		values["checkpoint.running"] = toNumber(x > 0)
	}
}

// checkpoint adds the time of the last checkpoint, and an event if one ended since the last sample.
func (r *statusReader) checkpoint(doc bson.Raw, values map[string]float64, now time.Time) []Event {
	took := time.Duration(0)
	if ms, ok := checkpointRecent.number(doc); ok && ms >= 0 {
		took = time.Duration(ms * float64(time.Millisecond))
		values["checkpoint.recent"] = float64(took)
	}
	n, ok := checkpointCount.number(doc)
	if !ok {
		return nil
	}
	before := r.checkpoints
	r.checkpoints = n
	if before < 0 || n <= before {
		return nil
	}
	return []Event{{Time: now, Kind: EventCheckpoint, Text: "a checkpoint ended after " + took.String(),
		Data: map[string]string{"server": r.server, "duration_ns": nanoseconds(took)}}}
}
