package observe

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

var (
	residentMiB     = server.At("mem/resident")
	checkpointCount = server.At("wiredTiger/transaction/transaction checkpoints",
		"wiredTiger/checkpoint/total succeed number of checkpoints")
	checkpointRecent = server.At("wiredTiger/transaction/transaction checkpoint most recent time (msecs)",
		"wiredTiger/checkpoint/most recent time (msecs)")
	uptimeMillis    = server.At("uptimeMillis")
	writablePrimary = server.At("repl/isWritablePrimary", "repl/ismaster")
)

func toNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// noLimit is the limit of flow control while it does not limit (flow_control.cpp: kMaxTickets).
const noLimit = 1e9

// statusReader turns serverStatus documents of one server into values.
type statusReader struct {
	rates       rates
	server      string
	up          float64
	checkpoints float64 // at the last sample, negative before the first
	stores      bool    // an earlier sample had statistics of WiredTiger
}

func newStatusReader() *statusReader { return &statusReader{checkpoints: -1} }

// read reads one document. Missing fields are left out.
func (r *statusReader) read(doc bson.Raw, now time.Time) (values map[string]float64, events []Event) {
	r.recognise(doc)
	values = map[string]float64{}
	r.rates.begin(now)
	for _, x := range server.Statistics() {
		r.statistic(values, x, doc)
	}
	r.derived(doc, values)
	events = r.checkpoint(doc, values, now)
	r.rates.end()
	return values, events
}

// statistic adds the value of one statistic that the document has.
func (r *statusReader) statistic(values map[string]float64, x server.Statistic, doc bson.Raw) {
	if x.Kind == server.Mean {
		total, ok1 := x.Terms[0].Number(doc)
		of, ok2 := x.Terms[1].Number(doc)
		if ok1 && ok2 {
			r.rates.mean(values, x.Name, total, of, x.Unit)
		}
		return
	}
	sum, ok := x.Sum(doc)
	switch {
	case !ok:
	case x.Kind == server.Gauge:
		values[x.Name] = sum
	case x.Kind == server.Counter:
		r.rates.perSecond(values, x.Name, sum)
	default:
		r.rates.perSecond(values, x.Name, sum*x.Unit.Seconds())
	}
}

// recognise resets the counters if another server replies, or the same one was restarted.
func (r *statusReader) recognise(doc bson.Raw) {
	host, _ := doc.Lookup("host").StringValueOK()
	up, known := uptimeMillis.Number(doc)
	if host != r.server || known && up < r.up {
		r.rates = rates{}
		r.checkpoints, r.stores = -1, false
	}
	r.server, r.up = host, up
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
	if _, ok := values["cache.max"]; ok {
		r.stores = true
	} else if r.stores { // until 5.0 at least, this part needs a ticket at once and is empty without one
		values["tickets.read.exhausted"] = 1
	}
	if x, ok := residentMiB.Number(doc); ok {
		values["memory.resident"] = x * (1 << 20)
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
	if x, ok := values["checkpoint.running"]; ok { // the state of its progress since 8.0
		values["checkpoint.running"] = toNumber(x > 0)
	}
}

// checkpoint adds the time of the last checkpoint, and an event if one ended since the last sample.
func (r *statusReader) checkpoint(doc bson.Raw, values map[string]float64, now time.Time) []Event {
	took := time.Duration(0)
	if ms, ok := checkpointRecent.Number(doc); ok && ms >= 0 {
		took = time.Duration(ms * float64(time.Millisecond))
		values["checkpoint.recent"] = float64(took)
	}
	n, ok := checkpointCount.Number(doc)
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
