package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Mode is the variant of the YCSB core workload.
type Mode uint8

const (
	// Corrected is `core`: true zipfian, 64-bit counts, compressibility, insert keys without collisions with earlier runs.
	Corrected Mode = iota
	// Original is `ycsb`: the same keys, documents and distributions as YCSB 0.17 and 0.18.
	Original
)

// Distributions of keys and lengths.
const (
	distUniform     = "uniform"
	distZipfian     = "zipfian"
	distLatest      = "latest"
	distHotspot     = "hotspot"
	distSequential  = "sequential"
	distExponential = "exponential"
	distConstant    = "constant"
	distHistogram   = "histogram"
)

// maxDocument is the largest document that MongoDB stores.
const maxDocument = 16 << 20

// CoreParams are the parameters of the YCSB core workload in both modes. [ParseYCSB] and [parseCore] set the defaults.
type CoreParams struct {
	Name string // in results
	Mode Mode
	Seed uint64

	Table      string // collection
	Records    int64  // records in the data set before the run
	Operations int64  // expected operations of the run; Original only, widens the zipfian key range

	// InsertStart is, in Original mode, the first key number of the load phase and the lower bound of the keys of reads.
	// In Corrected mode it is the first key number of the run's inserts; 0 chooses Records, or, if Run is not 0, a range
	// that no other run uses.
	InsertStart int64
	// InsertCount is the number of records of the load phase and of keys of reads. Original mode only; negative: not
	// given.
	InsertCount int64
	// Run, Client and Clients separate the inserts of several runs and processes in Corrected mode (see [Spec]). With Run
	// 0, inserts begin after the loaded records, so a second run collides.
	Run             uint64
	Client, Clients int

	FieldCount              int
	FieldPrefix             string
	FieldLength             int // bytes; the longest if lengths vary
	MinFieldLength          int // bytes
	FieldLengthDistribution string
	FieldHistogram          *Histogram // for the distribution "histogram"

	ReadAllFields       bool
	ReadAllFieldsByName bool
	WriteAllFields      bool
	DataIntegrity       bool

	// Weights of the operations; they need not add up to 1.
	Read, Update, Insert, Scan, ReadModifyWrite float64

	RequestDistribution    string
	MinScanLength          int
	MaxScanLength          int
	ScanLengthDistribution string
	HotspotData            float64 // share of the keys that are hot
	HotspotOperations      float64 // share of the operations that go to them
	ExponentialPercentile  float64 // this many percent of the operations …
	ExponentialFraction    float64 // … go to this newest share of the keys

	ZeroPadding int  // least number of digits in a key
	Ordered     bool // keys are numbers, not hashes

	BatchSize int  // inserts per request
	Upsert    bool // inserts replace what is there

	Theta           float64 // skew of zipfian and latest, Corrected only
	Compressibility float64 // share of each value that a compressor can remove, Corrected only
}

// OpenFunc opens a file that a parameter names (YCSB's fieldlengthhistogram).
type OpenFunc func(name string) (io.ReadCloser, error)

// check returns the first reason why the parameters are invalid.
func (p *CoreParams) check() error {
	switch {
	case p.Clients < 1 || p.Client < 0 || p.Client >= p.Clients:
		return fmt.Errorf("client %d of %d: clients are numbered from 0 to one below their number", p.Client, p.Clients)
	case p.InsertStart > math.MaxInt64/2:
		return fmt.Errorf("insertstart is %d: it must be at most 2^62", p.InsertStart)
	case p.Records < 1:
		return fmt.Errorf("recordcount is %d: it must be at least 1", p.Records)
	case p.Operations < 0:
		return fmt.Errorf("operationcount is %d: it must not be negative", p.Operations)
	case p.InsertStart < 0:
		return fmt.Errorf("insertstart is %d: it must not be negative", p.InsertStart)
	case p.BatchSize < 1 || p.BatchSize > 100_000:
		return fmt.Errorf("batchsize is %d: it must be from 1 to 100000", p.BatchSize)
	case p.Table == "":
		return errors.New("table is empty: name a collection")
	}
	for _, check := range []func() error{p.checkFields, p.checkRequests, p.checkShares, p.checkMode} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *CoreParams) checkFields() error {
	switch {
	case p.FieldCount < 1:
		return fmt.Errorf("fieldcount is %d: it must be at least 1", p.FieldCount)
	case p.FieldLength < 0:
		return fmt.Errorf("fieldlength is %d: it must not be negative", p.FieldLength)
	case p.ZeroPadding < 0 || p.ZeroPadding > 1000:
		return fmt.Errorf("zeropadding is %d: it must be from 0 to 1000", p.ZeroPadding)
	}
	if err := p.checkLengths(); err != nil {
		return err
	}
	longest := int64(p.FieldLength)
	if p.FieldLengthDistribution == distHistogram {
		longest = p.FieldHistogram.longest()
	}
	if longest > maxDocument || longest*int64(p.FieldCount) > maxDocument {
		return fmt.Errorf("fieldcount %d with fields of up to %d bytes is more than the 16 MiB that a document may have",
			p.FieldCount, longest)
	}
	return nil
}

func (p *CoreParams) checkLengths() error {
	switch p.FieldLengthDistribution {
	case distConstant:
		return nil
	case distUniform, distZipfian:
		if p.MinFieldLength < 0 || p.MinFieldLength > p.FieldLength {
			return fmt.Errorf("minfieldlength is %d: it must be from 0 to fieldlength (%d)", p.MinFieldLength, p.FieldLength)
		}
	case distHistogram:
		if p.FieldHistogram == nil {
			return errors.New("fieldlengthdistribution=histogram needs a file in fieldlengthhistogram")
		}
		return p.FieldHistogram.check()
	default:
		return unknownValue("fieldlengthdistribution", p.FieldLengthDistribution,
			distConstant, distUniform, distZipfian, distHistogram)
	}
	if p.DataIntegrity {
		return errors.New("dataintegrity needs fieldlengthdistribution=constant")
	}
	return nil
}

func (p *CoreParams) checkRequests() error {
	if p.MinScanLength < 1 || p.MinScanLength > p.MaxScanLength {
		return fmt.Errorf("minscanlength is %d: it must be from 1 to maxscanlength (%d)", p.MinScanLength, p.MaxScanLength)
	}
	switch p.ScanLengthDistribution {
	case distUniform, distZipfian:
	default:
		return unknownValue("scanlengthdistribution", p.ScanLengthDistribution, distUniform, distZipfian)
	}
	switch p.RequestDistribution {
	case distUniform, distZipfian, distLatest, distHotspot, distSequential, distExponential:
		return nil
	}
	return unknownValue("requestdistribution", p.RequestDistribution,
		distUniform, distZipfian, distLatest, distHotspot, distSequential, distExponential)
}

func (p *CoreParams) checkShares() error {
	if p.DataIntegrity && p.FieldLengthDistribution != distConstant {
		return errors.New("dataintegrity needs fieldlengthdistribution=constant")
	}
	if _, ok := p.mix(); !ok {
		return errors.New("all proportions are 0: set readproportion or another one above 0")
	}
	switch {
	case p.HotspotData < 0 || p.HotspotData > 1:
		return fmt.Errorf("hotspotdatafraction is %v: it must be from 0 to 1", p.HotspotData)
	case p.HotspotOperations < 0 || p.HotspotOperations > 1:
		return fmt.Errorf("hotspotopnfraction is %v: it must be from 0 to 1", p.HotspotOperations)
	case p.ExponentialPercentile <= 0 || p.ExponentialPercentile >= 100:
		return fmt.Errorf("exponential.percentile is %v: it must be between 0 and 100", p.ExponentialPercentile)
	case p.ExponentialFraction <= 0:
		return fmt.Errorf("exponential.frac is %v: it must be above 0", p.ExponentialFraction)
	}
	return nil
}

func (p *CoreParams) checkMode() error {
	if p.Mode == Original {
		return p.checkOriginal()
	}
	switch {
	case !(p.Theta > 0) || p.Theta > 10:
		return fmt.Errorf("theta is %v: it must be above 0 and at most 10", p.Theta)
	case !(p.Compressibility >= 0) || p.Compressibility >= 1:
		return fmt.Errorf("compressibility is %v: it must be at least 0 and below 1", p.Compressibility)
	case p.InsertStart > 0 && p.InsertStart < p.Records:
		return fmt.Errorf("insertstart is %d: keys below recordcount (%d) are loaded already", p.InsertStart, p.Records)
	case p.DataIntegrity && p.Compressibility > 0:
		return errors.New("dataintegrity and compressibility exclude each other. Leave compressibility at 0")
	}
	return nil
}

// checkOriginal has YCSB's check at its start, and those without which YCSB divides by zero or searches a key forever.
func (p *CoreParams) checkOriginal() error {
	n := p.keyRange()
	switch {
	case p.Records-p.InsertStart < p.InsertCount:
		return fmt.Errorf("recordcount (%d) must be at least insertstart + insertcount (%d + %d)",
			p.Records, p.InsertStart, p.InsertCount)
	case n < 1:
		return fmt.Errorf("no keys to read: recordcount is %d, insertstart %d and insertcount %d",
			p.Records, p.InsertStart, n)
	}
	if p.RequestDistribution == distHotspot {
		h := newHotspot(p.InsertStart, n, p.HotspotData, p.HotspotOperations)
		if (h.hot == 0 && p.HotspotOperations > 0) || (h.cold == 0 && p.HotspotOperations < 1) {
			return fmt.Errorf("hotspotdatafraction %v of %d keys leaves %d hot and %d cold keys: YCSB needs at least one of each",
				p.HotspotData, n, h.hot, h.cold)
		}
	}
	return nil
}

// keyRange returns the number of keys from InsertStart on that Original mode reads.
func (p *CoreParams) keyRange() int64 {
	if p.InsertCount >= 0 {
		return p.InsertCount
	}
	return p.Records - p.InsertStart
}

// loadCount returns the number of records of the load phase. Without insertcount, YCSB inserts recordcount records,
// even if insertstart is not 0.
func (p *CoreParams) loadCount() int64 {
	if p.Mode == Original && p.InsertCount >= 0 {
		return p.InsertCount
	}
	return p.Records
}

// firstLoaded returns the first key number of the load phase.
func (p *CoreParams) firstLoaded() int64 {
	if p.Mode == Original {
		return p.InsertStart
	}
	return 0
}

// firstInserted returns the first key number of the run's inserts.
func (p *CoreParams) firstInserted() int64 {
	switch {
	case p.Mode == Original:
		return p.Records
	case p.InsertStart > 0:
		return p.InsertStart
	case p.Run > 0:
		return max(runFirst(p.Run), p.Records)
	}
	return p.Records
}

// mix returns the chooser of operations, in YCSB's order.
func (p *CoreParams) mix() (mix, bool) {
	return newMix(p.Read, p.Update, p.Insert, p.Scan, p.ReadModifyWrite)
}
