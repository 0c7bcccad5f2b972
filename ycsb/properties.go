package ycsb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// properties of one call: those of the files, overridden by the command line.
type properties struct {
	values map[string]string
	first  error // the first property that could not be read
}

// readProperties reads the files in order and then the command line. notes names the stock workloads that are used
// because there is no such file.
func readProperties(a *Args) (p *properties, notes []string, err error) {
	p = &properties{values: map[string]string{}}
	for _, name := range a.files {
		props, note, err := ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
		maps.Copy(p.values, props)
	}
	maps.Copy(p.values, a.props)
	if p.values["workload"] == "" {
		return nil, nil, hinted(Usage, errors.New(`the property "workload" is missing`),
			"name a workload file with -P (workloada … workloadf are built in), "+
				"or use -p workload=site.ycsb.workloads.CoreWorkload")
	}
	return p, notes, nil
}

// ReadFile reads one property file. If there is no file of the name of a stock workload of YCSB, it uses the one that
// is built in; note names it.
func ReadFile(name string) (props map[string]string, note string, err error) {
	f, err := safeopen.OpenInput(context.Background(), name, safeopen.MaxDocument) // no signal is caught yet
	if errors.Is(err, fs.ErrNotExist) {
		base := filepath.Base(name)
		if stock, ok := workload.Stock(base); ok && strings.HasPrefix(base, "workload") {
			return stock, fmt.Sprintf("there is no file %s; using the built-in %s", name, base), nil
		}
		return nil, "", hinted(Usage, fmt.Errorf("cannot open the properties file %s: %w", name, fs.ErrNotExist),
			"workloada … workloadf are built in and need no file")
	}
	if err != nil {
		return nil, "", failed(Usage, fmt.Errorf("cannot open the properties file: %w", err))
	}
	defer f.Close()
	if props, _, err = workload.ReadProperties(f); err != nil {
		return nil, "", failed(Usage, fmt.Errorf("%s: %w", name, err))
	}
	return props, "", nil
}

func (p *properties) text(name, otherwise string) string {
	if v, ok := p.values[name]; ok {
		return v
	}
	return otherwise
}

// yes reads a boolean like Java: only "true", in any case, is true.
func (p *properties) yes(name string, otherwise bool) bool {
	if v, ok := p.values[name]; ok {
		return strings.EqualFold(v, "true")
	}
	return otherwise
}

// integer reads a number of at least least. YCSB's limit is 2³¹−1; this one's is 2⁶³−1.
func (p *properties) integer(name string, otherwise, least int64) int64 {
	v, ok := p.values[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil:
		p.fail(name, fmt.Errorf("%q is not a whole number", v))
	case n < least:
		p.fail(name, fmt.Errorf("%d is too small: the minimum is %d", n, least))
	}
	return n
}

func (p *properties) fail(name string, err error) {
	if p.first == nil && err != nil {
		p.first = failed(Usage, fmt.Errorf("property %s: %w", name, err))
	}
}

// clientProperties are those of the client; the others belong to the workload.
var clientProperties = []string{
	"db", "dotransactions", "threadcount", "target", "maxexecutiontime", "status", "status.interval", "label",
	"exporter", "exportfile", "spin.sleep", "reportlatencyforeacherror", "latencytrackederrors",
	"measurementtype", "measurement.interval", "measurement.trackjvm", "measurement.histogram.verbose",
	"measurement.raw.output_file", "measurement.raw.no_summary", "histogram.buckets",
	"hdrhistogram.percentiles", "hdrhistogram.fileoutput", "hdrhistogram.output.path",
	"timeseries.granularity", "timeseries.percentiles",
	"core_workload_insertion_retry_limit", "core_workload_insertion_retry_interval",
	"core_workload_insertion_keep_going_on_error",
	"mongodb.url", "mongodb.maxconnections", "mongodb.threadsAllowedToBlockForConnectionMultiplier",
	"mongodb.writeConcern", "mongodb.readPreference",
	"embedded.dir",
	"plimsoll.client", "plimsoll.seed", "plimsoll.timeout", "plimsoll.out", "plimsoll.strict", "plimsoll.ycsb.version",
}

// ForeignProperty reports whether a property belongs to YCSB's client or to a database, not to the workload.
func ForeignProperty(name string) bool {
	return slices.Contains(clientProperties, name) || foreign(name, knownProperties()) ||
		strings.HasPrefix(name, "mongodb.")
}

// knownProperties lists all properties that have an effect.
func knownProperties() []string {
	known := slices.Clone(clientProperties)
	for _, p := range workload.YCSBProperties() {
		known = append(known, p.Name)
	}
	return known
}

// misspelled finds properties without effect whose names are similar to known ones. Other unknown names are allowed:
// workload files have properties of other databases, which YCSB ignores.
func (p *properties) misspelled() []string {
	known := knownProperties()
	var found []string
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if slices.Contains(known, name) || foreign(name, known) {
			continue
		}
		if n := nearest.Word(name, known); n != "" {
			found = append(found, fmt.Sprintf("the property %q has no effect; did you mean %q?", name, n))
		} else if strings.HasPrefix(name, "mongodb.") || strings.HasPrefix(name, "plimsoll.") {
			found = append(found, fmt.Sprintf("the property %q has no effect: it is not known", name))
		}
	}
	return found
}

// foreign reports whether no known property has the first part of name, like "jdbc" in jdbc.url. Then the property
// belongs to another database.
func foreign(name string, known []string) bool {
	family, _, dotted := strings.Cut(name, ".")
	if !dotted {
		return false
	}
	var families []string
	for _, k := range known {
		if f, _, ok := strings.Cut(k, "."); ok {
			families = append(families, f)
		}
	}
	return nearest.Word(family, families) == ""
}
