package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

// host is this machine, which generates the load.
type host struct {
	name    string
	proc    procfs.FS
	block   blockdevice.FS
	noBlock error
	rates   rates
	quiet   map[string]bool // pressure that this kernel does not report
}

// NewHost returns this machine as the source "host:NAME". It fails on other systems than Linux.
func NewHost() (Source, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("cannot read the use of this machine: %w", err)
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	h := &host{name: "host:" + name, proc: proc, quiet: map[string]bool{}}
	h.block, h.noBlock = blockdevice.NewDefaultFS()
	return h, nil
}

func (h *host) Close() error { return nil }

func (h *host) Look(context.Context) (Reading, error) {
	values := map[string]float64{}
	h.rates.begin(time.Now())
	err := errors.Join(h.cpu(values), h.memory(values), h.disks(values), h.network(values))
	h.pressure(values)
	h.rates.end()
	return Reading{Source: h.name, Values: values}, err
}

func (h *host) cpu(values map[string]float64) error {
	stat, err := h.proc.Stat()
	if err != nil {
		return err
	}
	t := stat.CPUTotal
	h.rates.cpu(values, map[string]float64{
		"user": t.User + t.Nice, "system": t.System + t.IRQ + t.SoftIRQ, "iowait": t.Iowait, "steal": t.Steal, "idle": t.Idle,
	}, len(stat.CPU))
	return nil
}

func (h *host) memory(values map[string]float64) error {
	m, err := h.proc.Meminfo()
	if err != nil {
		return err
	}
	if m.MemAvailableBytes != nil && m.MemTotalBytes != nil {
		values["memory.available"] = float64(*m.MemAvailableBytes)
		values["memory.used"] = float64(*m.MemTotalBytes - *m.MemAvailableBytes)
	}
	return nil
}

// disks leaves out partitions, because their disk includes them.
func (h *host) disks(values map[string]float64) error {
	if h.noBlock != nil {
		return h.noBlock
	}
	stats, err := h.block.ProcDiskstats()
	if err != nil {
		return err
	}
	whole := ""
	for _, s := range stats {
		if whole != "" && partition(whole, s.DeviceName) {
			continue
		}
		whole = s.DeviceName
		h.rates.disk(values, whole, disk{
			reads: float64(s.ReadIOs), writes: float64(s.WriteIOs), readSectors: float64(s.ReadSectors),
			writeSectors: float64(s.WriteSectors), reading: float64(s.ReadTicks), writing: float64(s.WriteTicks),
			busy: float64(s.IOsTotalTicks),
		})
	}
	return nil
}

// partition reports whether a device is a partition of the disk listed before it: sda1 of sda, nvme0n1p1 of nvme0n1.
func partition(disk, device string) bool {
	rest, ok := strings.CutPrefix(device, disk)
	rest = strings.TrimPrefix(rest, "p")
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

// network adds the traffic of each interface that ever had any.
func (h *host) network(values map[string]float64) error {
	all, err := h.proc.NetDev()
	if err != nil {
		return err
	}
	for name, d := range all {
		if d.RxBytes+d.TxBytes > 0 {
			h.rates.perSecond(values, "network."+name+".received", float64(d.RxBytes))
			h.rates.perSecond(values, "network."+name+".sent", float64(d.TxBytes))
		}
	}
	return nil
}

// pressure adds the shares of the time in which some or all tasks waited for a resource, if the kernel reports them.
func (h *host) pressure(values map[string]float64) {
	for _, resource := range []string{"cpu", "io", "memory"} {
		if h.quiet[resource] {
			continue
		}
		psi, err := h.proc.PSIStatsForResource(resource)
		if err != nil {
			h.quiet[resource] = true
			continue
		}
		for name, line := range map[string]*procfs.PSILine{"some": psi.Some, "full": psi.Full} {
			if line != nil && (name != "full" || resource != "cpu") { // which has no meaning for a machine
				h.rates.share(values, "pressure."+resource+"."+name, float64(line.Total)/1e6)
			}
		}
	}
}
