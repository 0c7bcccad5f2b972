package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

const (
	mib = 1 << 20
	// leastOwnOplog is the minimum of mongod's default for the oplog, which is 5 % of the volume (manual: "Replica Set
	// Oplog"). An explicit size may be less.
	leastOwnOplog = 990 * mib
	// oplogShare is the part of a volume for the oplog if mongod's default is more.
	oplogShare = 0.1
	// The size and the number of the journal's files: one is written and two are ready (manual: "Journaling").
	journalFile, journalFiles = 100 * mib, 3
	// The limits of diagnostic.data (manual: "diagnosticDataCollectionDirectorySizeMB").
	mostDiagnostic, leastDiagnostic = 200 * mib, 10 * mib
	// usualCheckpoint is the default interval of checkpoints (manual: "syncdelay"). On volumes below shortBelow it is
	// shorter, by the square of the size, because a minute of writes does not fit: 100,000 inserts in nine seconds made an
	// oplog of 51 MB grow to 189 MB with a checkpoint every 15 s, and it does not shrink again.
	usualCheckpoint = time.Minute
	shortBelow      = 2 << 30
	// The approximate maximum that a lab on one machine writes per second: changed pages of 32 KiB, and journal and oplog.
	changedPages, written = 32 * mib, 24 * mib
	// ownTables is the approximate size of empty tables.
	ownTables = 2 * mib
)

// The parameters for the limit of diagnostic.data, in MB, and the interval of checkpoints, in seconds.
const (
	diagnosticSize  = "diagnosticDataCollectionDirectorySizeMB"
	checkpointEvery = "syncdelay"
)

// MongoRoom is the disk space in bytes that a mongod itself uses on its volume besides the data. The journal also needs
// space for everything written since the last checkpoint.
type MongoRoom struct {
	Volume     int64 // 0: no limit
	Oplog      int64 // 0: none, or unknown
	setOplog   bool  // pass it to mongod, because mongod's default is more
	Journal    int64 // of one file
	Diagnostic int64
	Checkpoint time.Duration // interval
}

// RoomOfMongo chooses the sizes on a volume, unless arguments and parameters set them. member is true for servers with
// an oplog.
func RoomOfMongo(volume int64, member bool, args []string, parameters map[string]string) MongoRoom {
	r := MongoRoom{Volume: volume, Journal: journalFile, Diagnostic: mostDiagnostic, Checkpoint: usualCheckpoint}
	if volume > 0 {
		share := float64(volume) / shortBelow
		r.Checkpoint = min(usualCheckpoint, max(5*time.Second, time.Duration(60*share*share)*time.Second))
		r.Journal = min(journalFile, max(mib, volume/64/mib*mib))
		r.Diagnostic = min(mostDiagnostic, max(leastDiagnostic, volume/50/mib*mib))
		if size := int64(oplogShare * float64(volume)); member && size < leastOwnOplog {
			r.Oplog, r.setOplog = max(mib, size/mib*mib), true
		} else if member {
			r.Oplog = max(leastOwnOplog, volume/20)
		}
	}
	if value, ok := argument(args, "oplogSize"); ok {
		if mb, err := strconv.ParseInt(value, 10, 64); err == nil {
			r.Oplog = mb * mib
		}
	}
	if mb, err := strconv.ParseInt(parameters[diagnosticSize], 10, 64); err == nil {
		r.Diagnostic = mb * mib
	}
	interval, ok := argument(args, checkpointEvery)
	if !ok {
		interval = parameters[checkpointEvery]
	}
	if seconds, err := strconv.ParseFloat(interval, 64); err == nil {
		r.Checkpoint = time.Duration(seconds * float64(time.Second))
	}
	if _, ok := argument(args, "wiredTigerEngineConfigString"); ok {
		r.Journal = journalFile
	}
	return r
}

// argument returns the value of an argument of mongod.
func argument(args []string, name string) (value string, ok bool) {
	for i, arg := range args {
		key, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case key != name || !strings.HasPrefix(arg, "-"):
		case joined:
			return value, true
		case i+1 < len(args):
			return args[i+1], true
		}
	}
	return "", false
}

// arguments returns mongod's arguments for the chosen sizes, without those that the user has set.
func (r MongoRoom) arguments(args []string, parameters map[string]string) []string {
	if r.Volume == 0 {
		return nil
	}
	var list []string
	if _, set := argument(args, "oplogSize"); r.setOplog && !set {
		list = append(list, "--oplogSize", strconv.FormatInt(r.Oplog/mib, 10))
	}
	if _, set := argument(args, "wiredTigerEngineConfigString"); r.Journal < journalFile && !set {
		list = append(list, "--wiredTigerEngineConfigString", fmt.Sprintf("log=(file_max=%dMB)", r.Journal/mib))
	}
	if _, set := parameters[diagnosticSize]; r.Diagnostic < mostDiagnostic && !set {
		list = append(list, "--setParameter", fmt.Sprintf("%s=%d", diagnosticSize, r.Diagnostic/mib))
	}
	_, asArgument := argument(args, checkpointEvery)
	if _, set := parameters[checkpointEvery]; r.Checkpoint < usualCheckpoint && !set && !asArgument {
		list = append(list, "--setParameter", fmt.Sprintf("%s=%d", checkpointEvery, int64(r.Checkpoint.Seconds())))
	}
	return list
}

// Own is the part of the volume in bytes that is not for data.
func (r MongoRoom) Own() int64 {
	return r.Oplog + journalFiles*r.Journal + r.Diagnostic + ownTables
}

// String lists the parts of Own.
func (r MongoRoom) String() string {
	var parts []string
	if r.Oplog > 0 {
		parts = append(parts, "the oplog "+figure.Bytes(r.Oplog))
	}
	parts = append(parts, fmt.Sprintf("%d journal files %s", journalFiles, figure.Bytes(journalFiles*r.Journal)),
		"diagnostic data "+figure.Bytes(r.Diagnostic))
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// Check returns an error if more than half of the volume is not for data.
func (r MongoRoom) Check() error {
	if r.Volume == 0 || 2*r.Own() <= r.Volume {
		return nil
	}
	return fmt.Errorf("storage.size: mongod itself uses %s of a volume of %s (%s). That is more than half. Use at least %s, "+
		"or a smaller --oplogSize in engine.args or %s in engine.parameters",
		figure.Bytes(r.Own()), figure.Bytes(r.Volume), r, figure.Bytes(2*r.Own()), diagnosticSize)
}

// CheckData returns an error if data do not fit on the volume. Between two checkpoints the journal keeps everything
// that is written, the oplog frees nothing, and both the old and the new version of changed pages exist.
func (r MongoRoom) CheckData(data int64) error {
	if r.Volume == 0 || data <= 0 {
		return nil
	}
	between := int64(r.Checkpoint.Seconds())
	needed := r.Own() + data*6/5 + min(data*13/10, changedPages*between) + min(3*data, written*between)
	if needed <= r.Volume {
		return nil
	}
	return fmt.Errorf("%s of data do not fit on a volume of %s: mongod itself uses %s (%s), and between two checkpoints "+
		"(every %s) the journal, the oplog and changed pages need more; use storage.size: %s, or fewer records",
		figure.Bytes(data), figure.Bytes(r.Volume), figure.Bytes(r.Own()), r, figure.Duration(r.Checkpoint),
		figure.Bytes((needed+mib-1)/mib*mib))
}
