// Package record reads and writes records: the directories with the results of runs and other measurements. It has the
// types of everything in them, a [RunWriter] that writes results while they are measured, and [Open], which reads a
// record and recovers the one of a run that was killed.
//
// A record of a run holds
//
//	run.json              what was asked for, where, what came out, and what it is worth ([Run])
//	intervals.ndjson.zst  one JSON line per second ([IntervalLine]), compressed with zstd
//	latency.hlog          all latencies as an HdrHistogram V2 log, one tag per class and kind
//	*-10s.*, *-1m.*       the two above, merged to intervals of ten seconds and of a minute, for charts of long runs
//	events.ndjson         what happened when (measure.Event)
//	SHA256SUMS            checksums of the above, written when the run ended properly
//
// Results are rebuilt from latency.hlog and the intervals to the last digit. It does not measure or judge: histograms
// and findings come from package measure.
package record
