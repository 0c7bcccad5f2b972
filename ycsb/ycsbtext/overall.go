package ycsbtext

import "time"

// Overall has the values of the summary before the series.
type Overall struct {
	RunTime    time.Duration // from the start of the workers to the end of the last one
	Operations int64         // attempted ones: YCSB counts failures too
	GCs        int64         // garbage collections of this process
	GCTime     time.Duration // total of their pauses
}

// milliseconds is the run time in whole milliseconds, as YCSB uses it.
func (o *Overall) milliseconds() float64 { return float64(o.RunTime.Milliseconds()) }

// Throughput is operations per second as YCSB computes it: by whole milliseconds, with failures.
func (o *Overall) Throughput() float64 { return 1000 * float64(o.Operations) / o.milliseconds() }

// Export writes the lines. YCSB also has lines for each collector of the Java machine. Go has one collector, so there
// are totals only.
func (o *Overall) Export(to Exporter) error {
	for _, part := range []struct {
		metric string
		write  func(l *lines)
	}{
		{"OVERALL", func(l *lines) {
			l.int("RunTime(ms)", o.RunTime.Milliseconds())
			l.double("Throughput(ops/sec)", o.Throughput())
		}},
		{"TOTAL_GCs", func(l *lines) { l.int("Count", o.GCs) }},
		{"TOTAL_GC_TIME", func(l *lines) { l.int("Time(ms)", o.GCTime.Milliseconds()) }},
		{"TOTAL_GC_TIME_%", func(l *lines) {
			l.double("Time(%)", float64(o.GCTime.Milliseconds())/o.milliseconds()*100)
		}},
	} {
		l := lines{to: to, name: part.metric}
		if part.write(&l); l.err != nil {
			return l.err
		}
	}
	return nil
}
