package embedded

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/plimsoll-bench/plimsoll/store"
)

// Info describes the engine and its file system.
func (st *embeddedStore) Info(context.Context) (store.Info, error) {
	fsType, volatile := fileSystem(st.dir)
	info := store.Info{
		Kind:     "embedded",
		Version:  pebbleVersion(),
		Topology: "embedded",
		Settings: map[string]string{
			"engine":            "pebble",
			"directory":         st.dir,
			"file_system":       fsType,
			"cache_bytes":       fmt.Sprint(cacheBytes),
			"memtable_bytes":    fmt.Sprint(st.opts.memTableBytes),
			"bytes_per_sync":    fmt.Sprint(bytesPerSync),
			"journal_interval":  journalInterval.String(),
			"sort_memory_bytes": fmt.Sprint(sortBytes),
			"compression":       "snappy",
			"wal_sync":          st.walSync(),
		},
		Notes: []string{"documents on Pebble in this process, not MongoDB: no network, no replication"},
	}
	if volatile {
		info.Notes = append(info.Notes,
			"the directory is in memory ("+fsType+"): syncs cost nothing, and no data survives a restart")
	}
	info.Notes = append(info.Notes, st.trail.list()...)
	return info, st.failure()
}

func (st *embeddedStore) walSync() string {
	switch {
	case st.sync:
		return "every write waits for the log"
	case st.concern.Unacknowledged():
		return "unacknowledged, log synced every " + journalInterval.String()
	}
	return "writes do not wait, log synced every " + journalInterval.String()
}

// pebbleVersion is the version of the Pebble module in this program.
func pebbleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "github.com/cockroachdb/pebble") {
			return "pebble " + m.Version
		}
	}
	return "unknown"
}
