package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// coreRaw holds the parameters while they are read.
type coreRaw struct {
	CoreParams
	class       string
	insertOrder string
	insertCount string
	histogram   string
	batch       string
}

// settings are the parameters of both modes, with YCSB's names and defaults, and those of the mode.
func (p *coreRaw) settings() []setting {
	boolean := func(at *bool) any { return at }
	if p.Mode == Original {
		boolean = func(at *bool) any { return (*javaBool)(at) }
	}
	list := []setting{
		{"table", "usertable", "collection", &p.Table},
		{"fieldcount", "10", "fields per record", &p.FieldCount},
		{"fieldnameprefix", "field", "field names are this and a number", &p.FieldPrefix},
		{"fieldlength", "100", "bytes per field, the longest if lengths vary", &p.FieldLength},
		{"minfieldlength", "1", "shortest field", &p.MinFieldLength},
		{"fieldlengthdistribution", distConstant, "constant, uniform, zipfian or histogram", &p.FieldLengthDistribution},
		{"fieldlengthhistogram", "hist.txt", "file with the histogram of field lengths", &p.histogram},
		{"readallfields", "true", "read all fields, or one", boolean(&p.ReadAllFields)},
		{"readallfieldsbyname", "false", "name all fields in a projection", boolean(&p.ReadAllFieldsByName)},
		{"writeallfields", "false", "update all fields, or one", boolean(&p.WriteAllFields)},
		{"dataintegrity", "false", "write values that reads can verify", boolean(&p.DataIntegrity)},
		{"readproportion", "0.95", "weight of reads", &p.Read},
		{"updateproportion", "0.05", "weight of updates", &p.Update},
		{"insertproportion", "0.0", "weight of inserts", &p.Insert},
		{"scanproportion", "0.0", "weight of scans", &p.Scan},
		{"readmodifywriteproportion", "0.0", "weight of read-modify-writes", &p.ReadModifyWrite},
		{"requestdistribution", distUniform, "uniform, zipfian, latest, hotspot, sequential or exponential", &p.RequestDistribution},
		{"zeropadding", "1", "least number of digits in a key", &p.ZeroPadding},
		{"insertorder", "hashed", "hashed or ordered keys", &p.insertOrder},
		{"minscanlength", "1", "shortest scan", &p.MinScanLength},
		{"maxscanlength", "1000", "longest scan", &p.MaxScanLength},
		{"scanlengthdistribution", distUniform, "uniform or zipfian", &p.ScanLengthDistribution},
		{"hotspotdatafraction", "0.2", "share of the keys that are hot", &p.HotspotData},
		{"hotspotopnfraction", "0.8", "share of the operations on hot keys", &p.HotspotOperations},
		{"exponential.percentile", "95", "percent of the operations on the newest part", &p.ExponentialPercentile},
		{"exponential.frac", "0.8571428571", "share of the keys that is the newest part", &p.ExponentialFraction},
		{"recordcount", "0", "records in the data set", &p.Records},
		{"insertstart", "0", "first key number of the load phase", &p.InsertStart},
		{"batchsize", "1", "inserts per request", &p.BatchSize},
		{"mongodb.upsert", "false", "inserts replace existing documents", boolean(&p.Upsert)},
	}
	if p.Mode == Original {
		return append(list,
			setting{"workload", ycsbClasses[0], "class of the workload", &p.class},
			setting{"operationcount", "0", "operations of the run", &p.Operations},
			setting{"insertcount", "", "records that the load phase inserts, all if empty", &p.insertCount},
			setting{"mongodb.batchsize", "", "the same as batchsize", &p.batch},
		)
	}
	for i := range list {
		switch list[i].name {
		case "recordcount":
			list[i].fallback = defaultRecords
		case "insertstart":
			list[i].help = "first key number of the run's inserts, 0 to choose one"
		}
	}
	return append(list,
		setting{"theta", "0.99", "skew of zipfian and latest, above 0", &p.Theta},
		setting{"compressibility", "0", "share of each value that compression can remove", &p.Compressibility},
	)
}

// defaultRecords is the default number of records (not YCSB's).
const defaultRecords = "100000"

func newRaw(name string, mode Mode) *coreRaw {
	return &coreRaw{CoreParams: CoreParams{Name: name, Mode: mode, Clients: 1, InsertCount: -1}}
}

// YCSBProperties describes the properties that [ParseYCSB] knows.
func YCSBProperties() []Param { return describe(newRaw("ycsb", Original).settings()) }

// ParseYCSB converts YCSB's properties to parameters of the Original mode, with YCSB's defaults and Java's syntax of
// numbers and booleans. It returns the unknown names, sorted: they may be the client's, or misspelled. An error names
// the property. Counts may have 64 bits, unlike YCSB's. open is needed for field length histograms only.
func ParseYCSB(props map[string]string, open OpenFunc) (p CoreParams, unknown []string, err error) {
	raw := newRaw("ycsb", Original)
	unknown, err = apply(raw.settings(), props)
	if err != nil {
		return p, nil, err
	}
	if !slices.Contains(ycsbClasses, raw.class) {
		hint := nearest.DidYouMean(raw.class, ycsbClasses)
		if hint == "" {
			hint = "; supported are " + strings.Join(ycsbClasses, " and ")
		}
		return p, nil, fmt.Errorf("workload: unknown class %q%s", raw.class, hint)
	}
	if raw.Records == 0 {
		raw.Records = math.MaxInt32
	}
	if raw.insertCount != "" {
		if raw.InsertCount, err = parseWhole(raw.insertCount, 64); err != nil {
			return p, nil, fmt.Errorf("insertcount: %w", err)
		}
		if raw.InsertCount < 0 {
			return p, nil, fmt.Errorf("insertcount is %d: it must not be negative", raw.InsertCount)
		}
	}
	if raw.batch != "" && props["batchsize"] == "" {
		n, err := parseWhole(raw.batch, 32)
		if err != nil {
			return p, nil, fmt.Errorf("mongodb.batchsize: %w", err)
		}
		raw.BatchSize = int(n)
	}
	raw.Ordered = raw.insertOrder != "hashed"
	err = raw.finish(open)
	return raw.CoreParams, unknown, err
}

// parseCore converts parameters to those of the Corrected mode. Unknown names are errors.
func parseCore(params map[string]string, open OpenFunc) (CoreParams, error) {
	raw := newRaw("core", Corrected)
	if err := applyAll(raw.settings(), params); err != nil {
		return CoreParams{}, err
	}
	switch raw.insertOrder {
	case "hashed":
	case "ordered":
		raw.Ordered = true
	default:
		return CoreParams{}, unknownValue("insertorder", raw.insertOrder, "hashed", "ordered")
	}
	err := raw.finish(open)
	return raw.CoreParams, err
}

// finish reads the histogram, if it is needed, and checks the parameters.
func (raw *coreRaw) finish(open OpenFunc) error {
	if raw.FieldLengthDistribution == distHistogram {
		if open == nil {
			return fmt.Errorf("fieldlengthhistogram: cannot open %s here", raw.histogram)
		}
		f, err := open(raw.histogram)
		if err != nil {
			return fmt.Errorf("fieldlengthhistogram: %w", err)
		}
		defer f.Close()
		if raw.FieldHistogram, err = parseHistogram(f); err != nil {
			return err
		}
	}
	return raw.check()
}

// ycsbClasses are the names of YCSB's core workload: that of 0.17 and later, and the older one.
var ycsbClasses = []string{"site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"}

// Stock returns the properties of YCSB's stock workload a, b, c, d, e or f. It also accepts "workloada" and capital
// letters.
func Stock(name string) (map[string]string, bool) {
	letter := strings.TrimPrefix(strings.ToLower(name), "workload")
	own, ok := map[string]string{
		"a": "readproportion=0.5 updateproportion=0.5 scanproportion=0 insertproportion=0 requestdistribution=zipfian",
		"b": "readproportion=0.95 updateproportion=0.05 scanproportion=0 insertproportion=0 requestdistribution=zipfian",
		"c": "readproportion=1 updateproportion=0 scanproportion=0 insertproportion=0 requestdistribution=zipfian",
		"d": "readproportion=0.95 updateproportion=0 scanproportion=0 insertproportion=0.05 requestdistribution=latest",
		"e": "readproportion=0 updateproportion=0 scanproportion=0.95 insertproportion=0.05 requestdistribution=zipfian" +
			" maxscanlength=100 scanlengthdistribution=uniform",
		"f": "readproportion=0.5 updateproportion=0 scanproportion=0 insertproportion=0 readmodifywriteproportion=0.5" +
			" requestdistribution=zipfian",
	}[letter]
	if !ok {
		return nil, false
	}
	props := map[string]string{
		"workload": ycsbClasses[0], "recordcount": "1000", "operationcount": "1000", "readallfields": "true",
	}
	for _, pair := range strings.Fields(own) {
		key, value, _ := strings.Cut(pair, "=")
		props[key] = value
	}
	return props, true
}
