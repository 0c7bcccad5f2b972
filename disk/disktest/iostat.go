package disktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// Iostat runs iostat -x on a device and returns the columns of one interval of so many seconds, by their names. begun
// is called when iostat was started; may be nil.
func Iostat(ctx context.Context, device string, seconds int, begun func()) (map[string]float64, error) {
	cmd := exec.CommandContext(ctx, "iostat", "-x", "-y", "-d", "-o", "JSON", device, strconv.Itoa(seconds), "1")
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	out, err := output(cmd, begun)
	if err != nil {
		return nil, fmt.Errorf("iostat (of the package sysstat): %w", err)
	}
	return parseIostat(out, device)
}

// output runs a command and returns what it prints.
func output(cmd *exec.Cmd, begun func()) ([]byte, error) {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if begun != nil {
		begun()
	}
	var content json.RawMessage
	decodeErr := json.NewDecoder(pipe).Decode(&content)
	return content, errors.Join(decodeErr, cmd.Wait())
}

// parseIostat takes the columns of a device from the only interval.
func parseIostat(out []byte, device string) (map[string]float64, error) {
	var all struct {
		Sysstat struct {
			Hosts []struct {
				Statistics []struct {
					Disk []map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("iostat printed %q: %w", out, err)
	}
	for _, h := range all.Sysstat.Hosts {
		for _, s := range h.Statistics {
			for _, d := range s.Disk {
				if d["disk_device"] != device {
					continue
				}
				columns := map[string]float64{}
				for name, v := range d {
					if x, ok := v.(float64); ok {
						columns[name] = x
					}
				}
				return columns, nil
			}
		}
	}
	return nil, fmt.Errorf("iostat printed nothing about %s: %s", device, out)
}
