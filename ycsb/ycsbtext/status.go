package ycsbtext

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Status makes the status lines of one run.
type Status struct {
	label string
	todo  int64 // operations of the run, 0 for no limit

	lastAt  time.Duration
	lastOps int64
}

// NewStatus returns a Status whose lines begin with label. todo is the number of operations of the run, 0 for no limit.
func NewStatus(label string, todo int64) *Status { return &Status{label: label, todo: todo} }

// Line returns one status line without a line end: now in local time, the time since the start (at), the number of
// operations, the current rate, the estimated end, and the summary of the series.
func (s *Status) Line(now time.Time, at time.Duration, ops int64, summary string) string {
	elapsed := float64(at.Milliseconds())
	current := 1000 * (float64(ops-s.lastOps) / float64((at - s.lastAt).Milliseconds()))
	s.lastAt, s.lastOps = at, ops

	var b strings.Builder
	b.WriteString(s.label)
	b.WriteString(timestamp(now))
	b.WriteString(" " + strconv.FormatInt(at.Milliseconds()/1000, 10) + " sec: ")
	b.WriteString(strconv.FormatInt(ops, 10) + " operations; ")
	if ops != 0 {
		b.WriteString(formatDecimal(current) + " current ops/sec; ")
	}
	if left := s.todo - ops; left > 0 {
		throughput := 1000 * (float64(ops) / elapsed)
		b.WriteString("est completion in " + remaining(truncate(math.Ceil(float64(left)/throughput))))
	}
	b.WriteString(summary)
	return b.String()
}

// timestamp is Java's "yyyy-MM-dd HH:mm:ss:SSS".
func timestamp(t time.Time) string {
	ms := strconv.Itoa(t.Nanosecond() / 1e6)
	return t.Format("2006-01-02 15:04:05") + ":" + strings.Repeat("0", 3-len(ms)) + ms
}

// remaining words a number of seconds like YCSB, with a space at the end: days and hours, or hours and minutes, or
// seconds. "second" is singular if the number has one digit. Before the first operation the number is infinite, which
// is printed as 106751991167300 days.
func remaining(seconds int64) string {
	var b strings.Builder
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		b.WriteString(strconv.FormatInt(n, 10) + " " + unit)
		if n != 1 {
			b.WriteByte('s')
		}
		b.WriteByte(' ')
	}
	days := seconds / 86400
	part(days, "day")
	seconds %= 86400
	part(seconds/3600, "hour")
	seconds %= 3600
	if days < 1 {
		part(seconds/60, "minute")
	}
	if b.Len() > 0 {
		return b.String()
	}
	number := strconv.FormatInt(seconds, 10)
	if len(number) == 1 {
		return number + " second "
	}
	return number + " seconds "
}
