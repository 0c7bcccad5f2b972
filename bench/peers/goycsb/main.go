// Command goycsb runs go-ycsb v1.0.1's core workload through its MongoDB binding and reports the processor time per
// operation. It is a separate module, so that Plimsoll does not depend on go-ycsb.
//
//	goycsb -uri mongodb://127.0.0.1:27017/ycsb?w=1 -op read -operations 100000 -threads 16
//
// It prints one line of JSON. go-ycsb starts its clock inside its client package; the processor time is measured here,
// over the run, after the connections were made.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/magiconair/properties"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"

	_ "github.com/pingcap/go-ycsb/db/mongodb"
)

type result struct {
	Operations int     `json:"operations"`
	Failed     int64   `json:"failed"`
	CPUMicros  float64 `json:"cpu_us_per_op"`
	Seconds    float64 `json:"seconds"`
}

// counted counts failures, which go-ycsb only prints.
type counted struct {
	ycsb.DB
	failed atomic.Int64
}

func (c *counted) Read(ctx context.Context, table, key string, fields []string) (map[string][]byte, error) {
	doc, err := c.DB.Read(ctx, table, key, fields)
	c.note(err)
	return doc, err
}

func (c *counted) Update(ctx context.Context, table, key string, values map[string][]byte) error {
	err := c.DB.Update(ctx, table, key, values)
	c.note(err)
	return err
}

func (c *counted) note(err error) {
	if err != nil {
		c.failed.Add(1)
	}
}

func main() {
	uri := flag.String("uri", "", "MongoDB URI")
	op := flag.String("op", "read", "read, update, mixed (half of each) or load (insert the records)")
	operations := flag.Int("operations", 100_000, "operations to do")
	threads := flag.Int("threads", 16, "threads")
	records := flag.Int("records", 100_000, "records that exist")
	flag.Parse()
	out := os.Stdout
	os.Stdout = os.Stderr // go-ycsb prints a report
	r, err := run(*uri, *op, *operations, *threads, *records)
	if err == nil {
		err = json.NewEncoder(out).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "goycsb:", err)
		os.Exit(1)
	}
}

func run(uri, op string, operations, threads, records int) (result, error) {
	p := properties.NewProperties()
	set := map[string]string{
		"mongodb.url":         uri,
		"workload":            "core",
		"table":               "usertable",
		"requestdistribution": "zipfian",
		"readproportion":      "0",
		"updateproportion":    "0",
		"scanproportion":      "0",
		"insertproportion":    "0",
		prop.RecordCount:      fmt.Sprint(records),
		prop.OperationCount:   fmt.Sprint(operations),
		prop.ThreadCount:      fmt.Sprint(threads),
		prop.DoTransactions:   "true",
		prop.MeasurementType:  "histogram",
		prop.LogInterval:      "3600",
	}
	switch op {
	case "mixed":
		set["readproportion"], set["updateproportion"] = "0.5", "0.5"
	case "load":
		set[prop.DoTransactions] = "false"
	default:
		set[op+"proportion"] = "1"
	}
	for k, v := range set {
		if _, _, err := p.Set(k, v); err != nil {
			return result{}, err
		}
	}
	measurement.InitMeasure(p)
	workload, err := ycsb.GetWorkloadCreator("core").Create(p)
	if err != nil {
		return result{}, fmt.Errorf("create the workload: %w", err)
	}
	db, err := ycsb.GetDBCreator("mongodb").Create(p)
	if err != nil {
		return result{}, fmt.Errorf("connect to %s: %w", uri, err)
	}
	defer db.Close()
	counting := &counted{DB: db}
	c := client.NewClient(p, workload, client.DbWrapper{DB: counting})
	measurement.EnableWarmUp(false) // go-ycsb does not count operations until its warm-up is over
	before, start := cpuTime(), time.Now()
	c.Run(context.Background())
	used, took := cpuTime()-before, time.Since(start)
	return result{
		Operations: operations,
		Failed:     counting.failed.Load(),
		CPUMicros:  float64(used.Nanoseconds()) / 1e3 / float64(operations),
		Seconds:    took.Seconds(),
	}, nil
}

// cpuTime is user and system time of this process (getrusage).
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
