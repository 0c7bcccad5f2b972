package ycsbtext

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Type is YCSB's property "measurementtype".
type Type int

// The measurement types of YCSB.
const (
	HDR             Type = iota // HdrHistogram with three digits
	Buckets                     // buckets of one millisecond
	HDRAndBuckets               // both, names prefixed "Hdr" and "Bucket"
	HDRAndRaw                   // histogram and every single value, names prefixed "Hdr" and "Raw"
	TimeSeries                  // averages per unit of time
	Raw                         // every single value
	firstTypeBeyond             // keep last
)

var typeNames = [firstTypeBeyond]string{
	"hdrhistogram", "histogram", "hdrhistogram+histogram", "hdrhistogram+raw", "timeseries", "raw",
}

// ParseType reads a value of the property "measurementtype".
func ParseType(name string) (Type, error) {
	if i := slices.Index(typeNames[:], name); i >= 0 {
		return Type(i), nil
	}
	return 0, fmt.Errorf("unknown measurementtype %q (known: %s)", name, strings.Join(typeNames[:], ", "))
}

// NeedsPoints reports whether the type needs single values instead of histograms.
func (t Type) NeedsPoints() bool { return t == Raw || t == HDRAndRaw }

// Interval is YCSB's property "measurement.interval": the start of latencies.
type Interval int

// The values of "measurement.interval".
const (
	Op       Interval = iota // from the actual send
	Intended                 // from the intended send
	Both                     // both, the second one named "Intended-…"
)

var intervalNames = [...]string{"op", "intended", "both"}

// ParseInterval reads a value of the property "measurement.interval".
func ParseInterval(name string) (Interval, error) {
	if i := slices.Index(intervalNames[:], name); i >= 0 {
		return Interval(i), nil
	}
	return 0, fmt.Errorf("unknown measurement.interval %q (known: %s)", name, strings.Join(intervalNames[:], ", "))
}

// Options of the measurements. The zero value needs [Options.EnsureDefaults].
type Options struct {
	Type     Type
	Interval Interval

	Percentiles  []float64     // of the HDR histogram; default 50, 95, 99 (95, 99 for Release017)
	SeriesValues []float64     // percentiles of the time series; default 95, 99
	Verbose      bool          // print every filled bucket
	Buckets      int           // number of one-millisecond buckets; default 1000
	Granularity  time.Duration // of the time series, whole milliseconds; default 1 s

	// Release017 prints like release 0.17.0: without a 50th percentile, which is neither a default of the summary nor in
	// the status line.
	Release017 bool

	// RawOut gets every single value (types Raw and HDRAndRaw). RawSummary adds percentiles.
	RawOut     io.Writer
	RawSummary bool

	// Log opens the histogram log of one series (YCSB's hdrhistogram.fileoutput); nil for none.
	Log func(series string) (io.WriteCloser, error)
	// Start is the start of the run, for histogram logs and raw values.
	Start time.Time
}

// EnsureDefaults sets YCSB's defaults for options that are not set.
func (o *Options) EnsureDefaults() {
	if len(o.Percentiles) == 0 {
		o.Percentiles = DefaultPercentiles(o.Release017)
	}
	if len(o.SeriesValues) == 0 {
		o.SeriesValues = []float64{95, 99}
	}
	if o.Buckets <= 0 {
		o.Buckets = 1000
	}
	if o.Granularity < time.Millisecond {
		o.Granularity = time.Second
	}
	if o.RawOut == nil {
		o.RawOut = io.Discard
	}
}

// DefaultPercentiles returns YCSB's default percentiles.
func DefaultPercentiles(release017 bool) []float64 {
	if release017 {
		return []float64{95, 99}
	}
	return []float64{50, 95, 99}
}

var errPercentile = errors.New("percentiles are numbers from 0 to 100, separated by commas")

// ParsePercentiles reads a comma-separated list such as "50,95,99.9".
func ParsePercentiles(s string) ([]float64, error) {
	var ps []float64
	for _, field := range strings.Split(s, ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || math.IsNaN(p) || p < 0 || p > 100 {
			return nil, fmt.Errorf("cannot read %q in %q: %w", strings.TrimSpace(field), s, errPercentile)
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// ordinal names a percentile like YCSB: whole numbers have an English ordinal suffix, others have none.
func ordinal(p float64) string {
	whole := int(p)
	if p != math.Trunc(p) {
		return formatDouble(p)
	}
	suffix := "th"
	if tens := whole % 100; tens < 11 || tens > 13 {
		suffix = [...]string{"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"}[whole%10]
	}
	return strconv.Itoa(whole) + suffix
}
