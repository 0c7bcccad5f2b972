package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/pattern"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// conclude computes verdict, findings, class and objectives, and writes the record.
func (p *probe) conclude() error {
	p.out.Verdict, _ = overall(p.out.Durability)
	p.doubts()
	p.out.Class = nil
	if j := p.out.Journal; j != nil {
		p.doubtOddFlush(j)
		p.out.Class = classOf(j, p.out)
	}
	judge(p.out)
	return p.Writer.Save()
}

// broken adds what an error says about the storage: it returned other data than it had acknowledged, or none.
func (p *probe) broken(err error) {
	d := record.ProbeDurability{Grade: "R", Covers: "blocks that the probe read again", Blind: "all other blocks"}
	var wrong *pattern.Mismatch
	switch {
	case errors.As(err, &wrong):
		d.Verdict, d.Text = record.Lying, wrong.Error()
		p.find("wrong-data", measure.Invalid, "the storage returned other data than were written to it: "+wrong.Error()+
			". Do not use it, and look at the kernel's log (dmesg)")
	case deviceFailed(err):
		d.Verdict, d.Text = record.Suspicious, p.set.Explain(err).Error()
		p.find("io-error", measure.Invalid, "the storage failed: "+d.Text)
	default:
		return
	}
	p.out.Durability = append(p.out.Durability, d)
}

// deviceFailed reports whether an error is that of a device or of a damaged filesystem, and not of the user's rights or
// of missing room.
func deviceFailed(err error) bool {
	return slices.ContainsFunc([]error{syscall.EIO, syscall.ENODEV, syscall.ENXIO, syscall.ETIMEDOUT, io.ErrUnexpectedEOF},
		func(e error) bool { return errors.Is(err, e) })
}

// doubts adds findings about the credibility of the result.
func (p *probe) doubts() {
	p.doubtStorage()
	p.doubtCache()
	p.doubtHost()
	for _, path := range p.limitFiles() {
		b, err := os.ReadFile(path)
		text := strings.TrimSpace(string(b))
		if err != nil || text == "" {
			continue
		}
		p.find("io-limit", measure.Warning, fmt.Sprintf("the control group of the probe has an I/O limit (%s: %s). If the device is faster, "+
			"the result is that of the limit. Run the probe without the limit to measure the device",
			filepath.Base(path), strings.Join(strings.Fields(text), " ")))
	}
	for _, s := range p.out.Steps {
		if s.Interrupted {
			p.find("interrupted-step", measure.Warning, "the last step was interrupted, so its results cover less time. Repeat the probe")
		}
		if s.Latency != nil && s.Latency.P99 == nil && s.Profile != spec.ProbeSustained {
			p.find("few-operations", measure.Note, fmt.Sprintf("some steps had fewer than %d operations, too few for a 99th percentile. "+
				"Use a longer --duration", measure.MinCount(0.99)))
		}
	}
}

// doubtCache compares the sizes of file and memory if reads use the page cache.
func (p *probe) doubtCache() {
	memory := p.memory()
	for _, s := range p.out.ProfileSteps(spec.ProbeRandom) {
		if s.Mode != files.Direct && s.Operation != Write && memory > 0 && p.spec.Size < 2*memory {
			p.find("fits-in-memory", measure.Warning, fmt.Sprintf("the test file (%s) is smaller than twice the memory (%s), so the page cache "+
				"answers %s reads instead of the storage. Use a larger --size, or --mode direct",
				figure.Bytes(p.spec.Size), figure.Bytes(memory), s.Mode))
		}
	}
}

// memory returns the memory that this process may use, in bytes; 0 if it is unknown.
func (p *probe) memory() int64 {
	memory := int64(p.out.Environment.MemoryBytes)
	if limit := int64(p.out.Environment.MemoryLimit); limit > 0 {
		memory = min(memory, limit)
	}
	return memory
}

// doubtHost adds findings about other load on the machine.
func (p *probe) doubtHost() {
	for _, s := range p.out.Steps {
		what := "during " + stepText(s)
		others := s.Host.Busy*float64(p.out.Environment.Threads) - s.CPUSeconds/max(s.Seconds, 1e-9)
		switch {
		case s.Host.Steal > 0.05:
			p.find("steal", measure.Warning, fmt.Sprintf("the hypervisor used %s of the processor time %s, so latencies include its delays. "+
				"Use a host with less load", figure.Percent(s.Host.Steal), what))
		case s.Host.CPUPressure != nil && *s.Host.CPUPressure > 0.25 && others > 0.5:
			p.find("cpu-pressure", measure.Warning, fmt.Sprintf("threads waited for a processor during %s of the time %s, while other programs "+
				"used %s cores. Flushes took longer than on an idle machine. Stop the other programs",
				figure.Percent(*s.Host.CPUPressure), what, figure.Significant(others)))
		}
		if s.Host.Throttled > 0.05*s.Seconds {
			p.find("throttled", measure.Warning, fmt.Sprintf(
				"the CPU limit of the probe's control group stopped it for %s of %s %s. Latencies include that. Raise the limit",
				figure.Duration(time.Duration(s.Host.Throttled*1e9)), figure.Duration(time.Duration(s.Seconds*1e9)), what))
		}
		p.doubtDevice(s)
	}
}

// doubtDevice compares the bytes of the probe without page cache with those of the device.
func (p *probe) doubtDevice(s record.ProbeStep) {
	if s.Profile != spec.ProbeRandom || s.Operation != Read || s.Mode != files.Direct || s.Bytes < 1<<20 {
		return
	}
	tops := map[string]bool{}
	for _, b := range p.out.Storage.Devices {
		if len(b.Above) == 0 {
			tops[b.Name] = true
		}
	}
	for _, d := range s.Devices {
		if len(tops) != 1 || !tops[d.Name] { // not the only one directly below the filesystem
			continue
		}
		if others := d.ReadBytes + d.WriteBytes - s.Bytes; float64(others) > 0.2*float64(s.Bytes) {
			p.find("other-load", measure.Warning, fmt.Sprintf("%s transferred %s while the probe read %s. Other programs use it, "+
				"so the result is too low. Stop them, or repeat the probe at another time",
				d.Name, figure.Bytes(d.ReadBytes+d.WriteBytes), figure.Bytes(s.Bytes)))
		}
	}
}

// limitFiles returns the files with the I/O limits of this process for both versions of control groups.
func (p *probe) limitFiles() []string {
	own, err := os.ReadFile(filepath.Join(p.System.Proc, "self/cgroup"))
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch parts[1] {
		case "":
			list = append(list, filepath.Join(p.System.Sys, "fs/cgroup", parts[2], "io.max"))
		case "blkio":
			for _, kind := range []string{"read_bps", "write_bps", "read_iops", "write_iops"} {
				list = append(list, filepath.Join(p.System.Sys, "fs/cgroup/blkio", parts[2], "blkio.throttle."+kind+"_device"))
			}
		}
	}
	return list
}
