package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// javaVariable names the directory of an unpacked release of YCSB with its MongoDB binding.
const javaVariable = "PLIMSOLL_BENCH_YCSB"

// javaArguments run a phase of workload A by YCSB, with the records and the durability of the other clients. It has a
// database of its own, because its keys are equal to ours.
func (b comparison) javaArguments(home, phase string) []string {
	path := filepath.Join(home, "lib", "*") + string(os.PathListSeparator) + filepath.Join(home, "mongodb-binding", "lib", "*")
	args := []string{"-cp", path, "site.ycsb.Client", phase, "-db", "site.ycsb.db.MongoDbClient",
		"-threads", strconv.Itoa(b.c.workers)}
	for _, pair := range []string{
		"workload=site.ycsb.workloads.CoreWorkload",
		"mongodb.url=mongodb://" + b.addr + "/ycsb_java?directConnection=true&w=1",
		"recordcount=100000", "operationcount=" + strconv.Itoa(b.c.operations), "requestdistribution=zipfian",
		"readproportion=0.5", "updateproportion=0.5",
	} {
		args = append(args, "-p", pair)
	}
	return args
}

// java runs a phase of YCSB once. The processor time is that of the whole process with the start of its virtual
// machine. The duration is the one that YCSB prints for the phase.
func (b comparison) java(ctx context.Context, home, phase string) (o outcome, err error) {
	cmd := exec.CommandContext(ctx, "java", b.javaArguments(home, phase)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("YCSB: %w: %s", err, lastLine(stderr.Bytes()))
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 3 {
			continue
		}
		n, err := strconv.ParseFloat(f[2], 64)
		switch {
		case err != nil:
		case f[1] == "RunTime(ms)":
			o.Seconds = n / 1000
		case f[1] == "Return=OK":
			o.Operations += int64(n)
		case strings.HasPrefix(f[1], "Return="):
			o.Operations += int64(n)
			o.Failed += int64(n)
		}
	}
	if o.Seconds == 0 || o.Operations == 0 {
		return o, fmt.Errorf("YCSB printed no result: %s", lastLine(out))
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	o.CPUMicros = float64(cpu.Microseconds()) / float64(o.Operations)
	return o, nil
}
