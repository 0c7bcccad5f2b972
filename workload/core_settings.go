package workload

import (
	"fmt"
	"math"
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

type coreSetting = setting[coreRaw]

// commonSettings are the parameters that both modes have, with YCSB's names and defaults.
func commonSettings(boolean func(func(*coreRaw) *bool) func(*coreRaw, string) error) []coreSetting {
	return []coreSetting{
		{"table", "usertable", "collection", setString(func(p *coreRaw) *string { return &p.Table })},
		{"fieldcount", "10", "fields per record", setInt(func(p *coreRaw) *int { return &p.FieldCount })},
		{"fieldnameprefix", "field", "field names are this and a number", setString(func(p *coreRaw) *string { return &p.FieldPrefix })},
		{"fieldlength", "100", "bytes per field, the longest if lengths vary", setInt(func(p *coreRaw) *int { return &p.FieldLength })},
		{"minfieldlength", "1", "shortest field", setInt(func(p *coreRaw) *int { return &p.MinFieldLength })},
		{"fieldlengthdistribution", distConstant, "constant, uniform, zipfian or histogram", setString(func(p *coreRaw) *string { return &p.FieldLengthDistribution })},
		{"fieldlengthhistogram", "hist.txt", "file with the histogram of field lengths", setString(func(p *coreRaw) *string { return &p.histogram })},
		{"readallfields", "true", "read all fields, or one", boolean(func(p *coreRaw) *bool { return &p.ReadAllFields })},
		{"readallfieldsbyname", "false", "name all fields in a projection", boolean(func(p *coreRaw) *bool { return &p.ReadAllFieldsByName })},
		{"writeallfields", "false", "update all fields, or one", boolean(func(p *coreRaw) *bool { return &p.WriteAllFields })},
		{"dataintegrity", "false", "write values that reads can verify", boolean(func(p *coreRaw) *bool { return &p.DataIntegrity })},
		{"readproportion", "0.95", "weight of reads", setFloat(func(p *coreRaw) *float64 { return &p.Read })},
		{"updateproportion", "0.05", "weight of updates", setFloat(func(p *coreRaw) *float64 { return &p.Update })},
		{"insertproportion", "0.0", "weight of inserts", setFloat(func(p *coreRaw) *float64 { return &p.Insert })},
		{"scanproportion", "0.0", "weight of scans", setFloat(func(p *coreRaw) *float64 { return &p.Scan })},
		{"readmodifywriteproportion", "0.0", "weight of read-modify-writes", setFloat(func(p *coreRaw) *float64 { return &p.ReadModifyWrite })},
		{"requestdistribution", distUniform, "uniform, zipfian, latest, hotspot, sequential or exponential", setString(func(p *coreRaw) *string { return &p.RequestDistribution })},
		{"zeropadding", "1", "least number of digits in a key", setInt(func(p *coreRaw) *int { return &p.ZeroPadding })},
		{"insertorder", "hashed", "hashed or ordered keys", setString(func(p *coreRaw) *string { return &p.insertOrder })},
		{"minscanlength", "1", "shortest scan", setInt(func(p *coreRaw) *int { return &p.MinScanLength })},
		{"maxscanlength", "1000", "longest scan", setInt(func(p *coreRaw) *int { return &p.MaxScanLength })},
		{"scanlengthdistribution", distUniform, "uniform or zipfian", setString(func(p *coreRaw) *string { return &p.ScanLengthDistribution })},
		{"hotspotdatafraction", "0.2", "share of the keys that are hot", setFloat(func(p *coreRaw) *float64 { return &p.HotspotData })},
		{"hotspotopnfraction", "0.8", "share of the operations on hot keys", setFloat(func(p *coreRaw) *float64 { return &p.HotspotOperations })},
		{"exponential.percentile", "95", "percent of the operations on the newest part", setFloat(func(p *coreRaw) *float64 { return &p.ExponentialPercentile })},
		{"exponential.frac", "0.8571428571", "share of the keys that is the newest part", setFloat(func(p *coreRaw) *float64 { return &p.ExponentialFraction })},
		{"recordcount", "0", "records in the data set", setLong(func(p *coreRaw) *int64 { return &p.Records })},
		{"insertstart", "0", "first key number of the load phase", setLong(func(p *coreRaw) *int64 { return &p.InsertStart })},
		{"batchsize", "1", "inserts per request", setInt(func(p *coreRaw) *int { return &p.BatchSize })},
		{"mongodb.upsert", "false", "inserts replace existing documents", boolean(func(p *coreRaw) *bool { return &p.Upsert })},
	}
}

// ycsbSettings are the parameters of the Original mode.
func ycsbSettings() []coreSetting {
	return append(commonSettings(setJavaBool[coreRaw]),
		coreSetting{"workload", ycsbClasses[0], "class of the workload", setString(func(p *coreRaw) *string { return &p.class })},
		coreSetting{"operationcount", "0", "operations of the run", setLong(func(p *coreRaw) *int64 { return &p.Operations })},
		coreSetting{"insertcount", "", "records that the load phase inserts, all if empty", setString(func(p *coreRaw) *string { return &p.insertCount })},
		coreSetting{"mongodb.batchsize", "", "the same as batchsize", setString(func(p *coreRaw) *string { return &p.batch })},
	)
}

// coreSettings are the parameters of the Corrected mode.
func coreSettings() []coreSetting {
	settings := append(commonSettings(setBool[coreRaw]),
		coreSetting{"theta", "0.99", "skew of zipfian and latest, above 0", setFloat(func(p *coreRaw) *float64 { return &p.Theta })},
		coreSetting{"compressibility", "0", "share of each value that compression can remove", setFloat(func(p *coreRaw) *float64 { return &p.Compressibility })},
	)
	for i := range settings {
		switch settings[i].name {
		case "recordcount":
			settings[i].fallback = defaultRecords
		case "insertstart":
			settings[i].help = "first key number of the run's inserts, 0 to choose one"
		}
	}
	return settings
}

// defaultRecords is how many records a data set has unless said otherwise (not YCSB's).
const defaultRecords = "100000"

// YCSBProperties describes the properties that [ParseYCSB] knows.
func YCSBProperties() []Param { return describe(ycsbSettings()) }

// ParseYCSB turns YCSB's properties into parameters of the Original mode, with YCSB's defaults and
// Java's ways of reading numbers and booleans. It returns the names that it has no use for, sorted:
// they may be the client's, or be misspelled. An error names the property. Counts may have 64 bits,
// also where YCSB stops at 2^31-1. open is needed for field length histograms only.
func ParseYCSB(props map[string]string, open OpenFunc) (p CoreParams, unknown []string, err error) {
	raw := coreRaw{CoreParams: CoreParams{Name: "ycsb", Mode: Original, Clients: 1}}
	unknown, err = apply(&raw, ycsbSettings(), props)
	if err != nil {
		return p, nil, err
	}
	if err := checkClass(raw.class); err != nil {
		return p, nil, err
	}
	if raw.Records == 0 {
		raw.Records = math.MaxInt32
	}
	raw.InsertCount = -1
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
	return raw.CoreParams, unknown, raw.finish(open)
}

// ParseCore turns parameters into those of the Corrected mode. Unknown names are errors.
func ParseCore(params map[string]string, open OpenFunc) (CoreParams, error) {
	raw := coreRaw{CoreParams: CoreParams{Name: "core", Mode: Corrected, Clients: 1, InsertCount: -1}}
	if err := applyAll(&raw, coreSettings(), params); err != nil {
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

// finish reads the histogram, if one is asked for, and checks the whole.
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
		if raw.FieldHistogram, err = ParseHistogram(f); err != nil {
			return err
		}
	}
	return raw.check()
}

// ycsbClasses are the names of YCSB's core workload: that of 0.17 and later, and the older one.
var ycsbClasses = [...]string{"site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"}

func checkClass(class string) error {
	for _, c := range ycsbClasses {
		if class == c {
			return nil
		}
	}
	hint := nearest.DidYouMean(class, ycsbClasses[:])
	if hint == "" {
		hint = "; supported are " + strings.Join(ycsbClasses[:], " and ")
	}
	return fmt.Errorf("workload: unknown class %q%s", class, hint)
}

// Stock returns the properties of YCSB's stock workload a, b, c, d, e or f ("workloada" and capital
// letters are understood too).
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
