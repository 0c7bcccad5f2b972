package server

import (
	"math"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Field is the places of one number in the documents of different releases. The first one that exists counts.
type Field []Place

// Place is a path of keys, and the first release that has it; "" if all supported releases do.
type Place struct {
	Since string
	Path  []string
}

// At returns a field. Each place is a path with slashes; a release before it ("8.0 queues/execution/read/out") is the
// first one that has it.
func At(places ...string) Field {
	var f Field
	for _, p := range places {
		since, path, ok := strings.Cut(p, " ")
		if !ok || !strings.ContainsAny(since[:1], "0123456789") {
			since, path = "", p
		}
		f = append(f, Place{since, strings.Split(path, "/")})
	}
	return f
}

// Number returns the value of a field: a number of any type, a boolean, a date as milliseconds, or the sum of a
// document of numbers, such as the times of a lock by mode. It returns false for anything else.
func (f Field) Number(doc bson.Raw) (float64, bool) {
	for _, p := range f {
		v, err := doc.LookupErr(p.Path...)
		if err != nil {
			continue
		}
		if x, ok := numeric(v); ok {
			return x, true
		}
	}
	return 0, false
}

func numeric(v bson.RawValue) (float64, bool) {
	if x, ok := v.DoubleOK(); ok {
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	if n, ok := v.AsInt64OK(); ok {
		return float64(n), true
	}
	if b, ok := v.BooleanOK(); ok {
		if b {
			return 1, true
		}
		return 0, true
	}
	if ms, ok := v.DateTimeOK(); ok {
		return float64(ms), true
	}
	d, ok := v.DocumentOK()
	if !ok {
		return 0, false
	}
	elements, err := d.Elements()
	if err != nil {
		return 0, false
	}
	sum := 0.0
	for _, e := range elements {
		n, ok := e.Value().AsInt64OK()
		if !ok {
			return 0, false
		}
		sum += float64(n)
	}
	return sum, len(elements) > 0
}

// StatisticKind says how a number of serverStatus becomes a value.
type StatisticKind int

// The kinds of statistics.
const (
	// Gauge is a value at a moment.
	Gauge StatisticKind = iota
	// Counter grows; its value is the growth per second.
	Counter
	// Time grows by the time of operations, in units of Unit. Its growth per second is the mean number of operations
	// that spent it (Little's law), or the share of a state.
	Time
	// Mean is the mean time of an event: a time in units of Unit, and the number of events. Its value is in
	// nanoseconds.
	Mean
)

// Statistic is one statistic of serverStatus.
type Statistic struct {
	Name string // in records
	Kind StatisticKind
	Unit time.Duration // of Time and Mean
	// Terms are added. A server counts a statistic if it has at least one of them. Those of Mean are the time and the
	// number of events.
	Terms []Field
}

// Since is the first release that has a statistic, "" if all supported releases do.
func (s Statistic) Since() string {
	var first Version
	for _, t := range s.Terms {
		for _, p := range t {
			v, err := ParseVersion(p.Since)
			if err != nil {
				return ""
			}
			if !first.Known() || v.Compare(first) < 0 {
				first = v
			}
		}
	}
	return first.Text
}

// Sum adds the terms that a document has; false if it has none.
func (s Statistic) Sum(doc bson.Raw) (sum float64, ok bool) {
	for _, t := range s.Terms {
		if x, has := t.Number(doc); has {
			sum, ok = sum+x, true
		}
	}
	return sum, ok
}

// StatisticNamed returns the statistic of a name.
func StatisticNamed(name string) (Statistic, bool) {
	for _, s := range statistics {
		if s.Name == name {
			return s, true
		}
	}
	return Statistic{}, false
}

// Statistics are the statistics that Plimsoll reads once a second. The caller must not change them.
func Statistics() []Statistic { return statistics }

// Execution tickets moved from the storage engine to the queues of the server, checkpoints within WiredTiger, and the
// time of evictions from its threads to its cache. Sources: the statistics of the server's code at 4.4.6, 5.0.0 and the
// main branch of April 2026, and answers of 4.4, 5.0, 7.0 and 8.0.
var statistics = []Statistic{
	gauge("connections.current", "connections/current"),
	gauge("connections.available", "connections/available"),
	gauge("connections.active", "connections/active"),
	gauge("queue.readers", "globalLock/currentQueue/readers"),
	gauge("queue.writers", "globalLock/currentQueue/writers"),
	gauge("active.readers", "globalLock/activeClients/readers"),
	gauge("active.writers", "globalLock/activeClients/writers"),
	gauge("cache.used", "wiredTiger/cache/bytes currently in the cache"),
	gauge("cache.dirty", "wiredTiger/cache/tracked dirty bytes in the cache"),
	gauge("cache.max", "wiredTiger/cache/maximum bytes configured"),
	gauge("checkpoint.running", "8.0 wiredTiger/checkpoint/progress state",
		"wiredTiger/transaction/transaction checkpoint currently running", "7.0 wiredTiger/checkpoint/currently running"),
	gauge("tickets.read.out", "8.0 queues/execution/read/out", "wiredTiger/concurrentTransactions/read/out"),
	gauge("tickets.read.available", "8.0 queues/execution/read/available",
		"wiredTiger/concurrentTransactions/read/available"),
	gauge("tickets.write.out", "8.0 queues/execution/write/out", "wiredTiger/concurrentTransactions/write/out"),
	gauge("tickets.write.available", "8.0 queues/execution/write/available",
		"wiredTiger/concurrentTransactions/write/available"),
	gauge("flow_control.lagged", "flowControl/isLagged"),
	gauge("flow_control.limit", "flowControl/targetRateLimit"),
	gauge("repl.buffer.operations", "8.0 metrics/repl/buffer/apply/count", "metrics/repl/buffer/count"),
	gauge("repl.buffer.size", "8.0 metrics/repl/buffer/apply/sizeBytes", "metrics/repl/buffer/sizeBytes"),
	gauge("memory.allocated", "tcmalloc/generic/current_allocated_bytes"),
	gauge("memory.heap", "tcmalloc/generic/heap_size"),

	counter("opcounters.insert", "opcounters/insert"),
	counter("opcounters.query", "opcounters/query"),
	counter("opcounters.update", "opcounters/update"),
	counter("opcounters.delete", "opcounters/delete"),
	counter("opcounters.getmore", "opcounters/getmore"),
	counter("opcounters.command", "opcounters/command"),
	counter("ended.reads", "opLatencies/reads/ops"),
	counter("ended.writes", "opLatencies/writes/ops"),
	counter("ended.commands", "opLatencies/commands/ops"),
	counter("connections.created", "connections/totalCreated"),
	counter("connections.rejected", "7.0 connections/rejected"),
	counter("network.received", "network/bytesIn"),
	counter("network.sent", "network/bytesOut"),
	counter("network.requests", "network/numRequests"),
	counter("cache.pages_read", "wiredTiger/cache/pages read into cache"),
	counter("cache.pages_requested", "wiredTiger/cache/pages requested from the cache"),
	counter("cache.read_bytes", "wiredTiger/cache/bytes read into cache"),
	counter("cache.written_bytes", "wiredTiger/cache/bytes written from cache"),
	counter("cache.evicted",
		"wiredTiger/cache/unmodified pages evicted").and("wiredTiger/cache/modified pages evicted"),
	counter("log.syncs", "wiredTiger/log/log sync operations"),
	counter("log.written_bytes", "wiredTiger/log/log bytes written"),
	counter("page_faults", "extra_info/page_faults"),
	counter("write_conflicts", "metrics/operation/writeConflicts"),
	counter("update_conflicts", "wiredTiger/transaction/update conflicts"),
	counter("locks.waits", "locks/Global/acquireWaitCount").and("locks/Database/acquireWaitCount").
		and("locks/Collection/acquireWaitCount"),
	counter("write_concern.waits", "metrics/getLastError/wtime/num"),
	counter("profiler.writes", "8.3 profiler/totalWrites"),
	counter("repl.applied", "metrics/repl/apply/ops"),
	counter("repl.fetched", "metrics/repl/network/ops"),
	counter("repl.fetched_bytes", "metrics/repl/network/bytes"),
	counter("capacity.read_bytes", "wiredTiger/capacity/bytes read"),
	counter("capacity.checkpoint_bytes", "wiredTiger/capacity/bytes written for checkpoint"),
	counter("capacity.eviction_bytes", "wiredTiger/capacity/bytes written for eviction"),
	counter("capacity.log_bytes", "wiredTiger/capacity/bytes written for log"),

	// The mean number of operations in a server, and in each place of it.
	micros("load.reads", "opLatencies/reads/latency"),
	micros("load.writes", "opLatencies/writes/latency"),
	micros("load.commands", "opLatencies/commands/latency"),
	micros("cpu.used", "extra_info/user_time_us").and("extra_info/system_time_us"),
	micros("waiting.read_tickets", "8.0 queues/execution/read/normalPriority/totalTimeQueuedMicros",
		"7.0 wiredTiger/concurrentTransactions/read/normalPriority/totalTimeQueuedMicros"),
	micros("waiting.write_tickets", "8.0 queues/execution/write/normalPriority/totalTimeQueuedMicros",
		"7.0 wiredTiger/concurrentTransactions/write/normalPriority/totalTimeQueuedMicros"),
	micros("waiting.flow_control", "flowControl/timeAcquiringMicros"),
	micros("waiting.global_locks",
		"locks/Global/timeAcquiringMicros").and("locks/ReplicationStateTransition/timeAcquiringMicros").
		and("locks/ParallelBatchWriterMode/timeAcquiringMicros"),
	micros("waiting.collection_locks",
		"locks/Database/timeAcquiringMicros").and("locks/Collection/timeAcquiringMicros"),
	micros("waiting.engine_locks", "wiredTiger/lock/checkpoint lock application thread wait time (usecs)").
		and("wiredTiger/lock/dhandle lock application thread time waiting (usecs)").
		and("wiredTiger/lock/metadata lock application thread wait time (usecs)").
		and("wiredTiger/lock/schema lock application thread wait time (usecs)").
		and("wiredTiger/lock/table lock application thread time waiting for the table lock (usecs)").
		and("wiredTiger/lock/txn global lock application thread time waiting (usecs)"),
	micros("waiting.page_reads", "wiredTiger/cache/application threads page read from disk to cache time (usecs)"),
	micros("waiting.page_writes", "wiredTiger/cache/application threads page write from cache to disk time (usecs)"),
	micros("waiting.evicting", "8.0 wiredTiger/cache/application thread time evicting (usecs)",
		"wiredTiger/thread-yield/application thread time evicting (usecs)"),
	micros("waiting.cache", "wiredTiger/thread-yield/application thread time waiting for cache (usecs)"),
	micros("waiting.prepared", "8.3 metrics/operation/prepareConflictWaitMicros"),
	{"waiting.write_concern", Time, time.Millisecond, []Field{At("metrics/getLastError/wtime/totalMillis")}},
	micros("flow_control.lagged_time", "flowControl/isLaggedTimeMicros"),
	micros("capacity.waiting", "wiredTiger/capacity/time waiting due to total capacity (usecs)"),

	mean("latency.reads", time.Microsecond, "opLatencies/reads/latency", "opLatencies/reads/ops"),
	mean("latency.writes", time.Microsecond, "opLatencies/writes/latency", "opLatencies/writes/ops"),
	mean("latency.commands", time.Microsecond, "opLatencies/commands/latency", "opLatencies/commands/ops"),
	mean("latency.transactions", time.Microsecond, "opLatencies/transactions/latency", "opLatencies/transactions/ops"),
	mean("repl.batch_time", time.Millisecond, "metrics/repl/apply/batches/totalMillis",
		"metrics/repl/apply/batches/num"),
	mean("log.sync_time", time.Microsecond, "wiredTiger/log/log sync time duration (usecs)",
		"wiredTiger/log/log sync operations"),
}

func gauge(name string, places ...string) Statistic {
	return Statistic{name, Gauge, 0, []Field{At(places...)}}
}

func counter(name string, places ...string) Statistic {
	return Statistic{name, Counter, 0, []Field{At(places...)}}
}

func micros(name string, places ...string) Statistic {
	return Statistic{name, Time, time.Microsecond, []Field{At(places...)}}
}

func mean(name string, unit time.Duration, total, events string) Statistic {
	return Statistic{name, Mean, unit, []Field{At(total), At(events)}}
}

func (s Statistic) and(places ...string) Statistic {
	s.Terms = append(s.Terms, At(places...))
	return s
}
