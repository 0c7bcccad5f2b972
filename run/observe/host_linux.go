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

// host is the machine that makes the load.
type host struct {
	name    string
	proc    procfs.FS
	block   blockdevice.FS
	noBlock error
	rates   rates
	quiet   map[string]bool // pressure that this kernel does not tell
}

// NewHost returns the machine that this process runs on, as a source called host:NAME. It fails where the
// system does not tell what is needed.
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

// Close implements [Source].
func (h *host) Close() error { return nil }

// Look implements [Source].
func (h *host) Look(context.Context) (Reading, error) {
	now, values := time.Now(), map[string]float64{}
	h.rates.begin()
	err := errors.Join(h.cpu(values), h.memory(values), h.disks(values, now), h.network(values, now))
	h.pressure(values, now)
	h.rates.end(now)
	return Reading{Source: h.name, Values: values}, err
}

// cpu adds the shares of the time of all processors, and how many of them are busy. Time that a hypervisor
// gives to others is not busy, but it is gone.
func (h *host) cpu(values map[string]float64) error {
	stat, err := h.proc.Stat()
	if err != nil {
		return err
	}
	t := stat.CPUTotal
	parts := map[string]float64{
		"user": t.User + t.Nice, "system": t.System + t.IRQ + t.SoftIRQ, "iowait": t.Iowait, "steal": t.Steal, "idle": t.Idle,
	}
	grown, all, known := map[string]float64{}, 0.0, true
	for name, total := range parts {
		g, ok := h.rates.add("cpu."+name, total)
		if !ok && name == "iowait" { // the kernel may count it down
			g, ok = 0, len(h.rates.last) > 0
		}
		grown[name], known = g, known && ok
		all += g
	}
	if !known || all <= 0 {
		return nil
	}
	for _, name := range []string{"user", "system", "iowait", "steal"} {
		values["cpu."+name] = grown[name] / all
	}
	values["cpu.busy"] = (grown["user"] + grown["system"]) / all
	values["cpu.used"] = values["cpu.busy"] * float64(len(stat.CPU))
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

// sector is the unit of /proc/diskstats, whatever the device's own is.
const sector = 512

// disks adds the traffic of each disk that ever had any. Partitions are left out: their disk has it all.
func (h *host) disks(values map[string]float64, now time.Time) error {
	if h.noBlock != nil {
		return h.noBlock
	}
	stats, err := h.block.ProcDiskstats()
	if err != nil {
		return err
	}
	disk := ""
	for _, s := range stats {
		if disk != "" && partition(disk, s.DeviceName) {
			continue
		}
		disk = s.DeviceName
		if s.ReadIOs+s.WriteIOs > 0 && !strings.HasPrefix(disk, "loop") && !strings.HasPrefix(disk, "ram") {
			h.disk(values, "disk."+disk+".", s.IOStats, now)
		}
	}
	return nil
}

// partition reports whether a device is a part of the disk listed before it: sda1 of sda, nvme0n1p1 of nvme0n1.
func partition(disk, device string) bool {
	rest, ok := strings.CutPrefix(device, disk)
	rest = strings.TrimPrefix(rest, "p")
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

// disk adds the traffic of one disk: what iostat calls rkB/s, wkB/s, r/s, w/s, %util and await.
func (h *host) disk(values map[string]float64, at string, s blockdevice.IOStats, now time.Time) {
	h.rates.perSecond(values, at+"read_bytes", float64(s.ReadSectors)*sector, now)
	h.rates.perSecond(values, at+"write_bytes", float64(s.WriteSectors)*sector, now)
	h.rates.perSecond(values, at+"reads", float64(s.ReadIOs), now)
	h.rates.perSecond(values, at+"writes", float64(s.WriteIOs), now)
	busy, known := h.rates.add(at+"busy", float64(s.IOsTotalTicks)/1e3)
	if seconds := h.rates.seconds(now); known && seconds > 0 {
		values[at+"utilisation"] = min(1, busy/seconds)
	}
	waited, ok1 := h.rates.add(at+"ticks", float64(s.ReadTicks+s.WriteTicks))
	done, ok2 := h.rates.add(at+"done", float64(s.ReadIOs+s.WriteIOs))
	if ok1 && ok2 && done > 0 {
		values[at+"await"] = waited / done * 1e6
	}
}

// network adds the traffic of each interface that ever had any.
func (h *host) network(values map[string]float64, now time.Time) error {
	all, err := h.proc.NetDev()
	if err != nil {
		return err
	}
	for name, d := range all {
		if d.RxBytes+d.TxBytes > 0 {
			h.rates.perSecond(values, "network."+name+".received", float64(d.RxBytes), now)
			h.rates.perSecond(values, "network."+name+".sent", float64(d.TxBytes), now)
		}
	}
	return nil
}

// pressure adds the share of the time in which some, or all, tasks waited for a resource, where the kernel
// tells.
func (h *host) pressure(values map[string]float64, now time.Time) {
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
			if line == nil || name == "full" && resource == "cpu" { // without a meaning for a whole machine
				continue
			}
			at := "pressure." + resource + "." + name
			waited, ok := h.rates.add(at, float64(line.Total)/1e6)
			if seconds := h.rates.seconds(now); ok && seconds > 0 {
				values[at] = min(1, waited/seconds)
			}
		}
	}
}
