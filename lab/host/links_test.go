package host_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// links are the interfaces of this machine that a lab's journal ever had.
func links(dir string) (left []string) {
	f, err := os.Open(filepath.Join(dir, journal.FileName))
	if err != nil {
		return nil
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var r journal.Resource
		if json.Unmarshal(in.Bytes(), &r) != nil || r.Kind != "link" {
			continue
		}
		l, err := net.InterfaceByName(r.Name)
		if err == nil && l.HardwareAddr.String() == r.Details["mac"] {
			left = append(left, "link "+r.Name)
		}
	}
	return left
}
