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
	// leastOwnOplog is the least size that mongod gives its oplog by itself, which is 5 % of the volume otherwise (manual:
	// "Replica Set Oplog"). A size that is said may be less.
	leastOwnOplog = 990 * mib
	// oplogShare is the part of a volume that the oplog gets, where mongod by itself would take more.
	oplogShare = 0.1
	// The journal's files, and how many there are: the one that is written and two that are ready (manual: "Journaling").
	journalFile, journalFiles = 100 * mib, 3
	// The bounds of diagnostic.data (manual: "diagnosticDataCollectionDirectorySizeMB").
	mostDiagnostic, leastDiagnostic = 200 * mib, 10 * mib
	// usualCheckpoint is how long it is from one checkpoint to the next (manual: "syncdelay"). On volumes below shortBelow it is
	// shorter, by the square of the size, because a minute of writes does not fit there: 100,000 inserts in nine seconds made an
	// oplog of 51 MB take 189 MB with a checkpoint every 15 s, which it does not give back.
	usualCheckpoint = time.Minute
	shortBelow      = 2 << 30
	// What a lab of this machine writes in a second at most, roughly: of changed pages of 32 KiB, and into journal and oplog.
	changedPages, written = 32 * mib, 24 * mib
	// ownTables is about what empty tables take.
	ownTables = 2 * mib
)

// The parameters that bound diagnostic.data, in MB, and that say how long it is between checkpoints, in seconds.
const (
	diagnosticSize  = "diagnosticDataCollectionDirectorySizeMB"
	checkpointEvery = "syncdelay"
)

// MongoRoom is what a mongod itself keeps on its volume besides the data, in bytes. The journal grows beyond it: it keeps what
// was written since the last checkpoint.
type MongoRoom struct {
	Volume     int64 // 0: without a limit of its own
	Oplog      int64 // 0: none, or not known
	setOplog   bool  // it is said, because mongod by itself would take more
	Journal    int64 // of one file
	Diagnostic int64
	Checkpoint time.Duration // from one checkpoint to the next
}

// RoomOfMongo decides how much room each of these gets on a volume, unless arguments and parameters say it. member is true
// for those with an oplog.
func RoomOfMongo(volume int64, member bool, args []string, parameters map[string]string) MongoRoom {
	r := MongoRoom{Volume: volume, Journal: journalFile, Diagnostic: mostDiagnostic, Checkpoint: usualCheckpoint}
	if volume > 0 {
		r.Checkpoint = min(usualCheckpoint, max(5*time.Second, time.Duration(60*(float64(volume)/shortBelow)*(float64(volume)/shortBelow))*time.Second))
		r.Journal = min(journalFile, max(mib, volume/64/mib*mib))
		r.Diagnostic = min(mostDiagnostic, max(leastDiagnostic, volume/50/mib*mib))
		if size := int64(oplogShare * float64(volume)); member && size < leastOwnOplog {
			r.Oplog, r.setOplog = max(mib, size/mib*mib), true
		} else if member {
			r.Oplog = max(leastOwnOplog, volume/20)
		}
	}
	if said, ok := argument(args, "oplogSize"); ok {
		if mb, err := strconv.ParseInt(said, 10, 64); err == nil {
			r.Oplog = mb * mib
		}
	}
	if mb, err := strconv.ParseInt(parameters[diagnosticSize], 10, 64); err == nil {
		r.Diagnostic = mb * mib
	}
	said, ok := argument(args, checkpointEvery)
	if !ok {
		said = parameters[checkpointEvery]
	}
	if seconds, err := strconv.ParseFloat(said, 64); err == nil {
		r.Checkpoint = time.Duration(seconds * float64(time.Second))
	}
	if _, ok := argument(args, "wiredTigerEngineConfigString"); ok {
		r.Journal = journalFile
	}
	return r
}

// argument finds the value of an argument of mongod.
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

// arguments say it to mongod, as far as nobody else does.
func (r MongoRoom) arguments(args []string, parameters map[string]string) []string {
	if r.Volume == 0 {
		return nil
	}
	var list []string
	if _, said := argument(args, "oplogSize"); r.setOplog && !said {
		list = append(list, "--oplogSize", strconv.FormatInt(r.Oplog/mib, 10))
	}
	if _, said := argument(args, "wiredTigerEngineConfigString"); r.Journal < journalFile && !said {
		list = append(list, "--wiredTigerEngineConfigString", fmt.Sprintf("log=(file_max=%dMB)", r.Journal/mib))
	}
	if _, said := parameters[diagnosticSize]; r.Diagnostic < mostDiagnostic && !said {
		list = append(list, "--setParameter", fmt.Sprintf("%s=%d", diagnosticSize, r.Diagnostic/mib))
	}
	_, asArgument := argument(args, checkpointEvery)
	if _, said := parameters[checkpointEvery]; r.Checkpoint < usualCheckpoint && !said && !asArgument {
		list = append(list, "--setParameter", fmt.Sprintf("%s=%d", checkpointEvery, int64(r.Checkpoint.Seconds())))
	}
	return list
}

// Own is how much of the volume is not for data.
func (r MongoRoom) Own() int64 {
	return r.Oplog + journalFiles*r.Journal + r.Diagnostic + ownTables
}

// String is what takes the room.
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

// Check refuses a volume of which too little is left for data.
func (r MongoRoom) Check() error {
	if r.Volume == 0 || 2*r.Own() <= r.Volume {
		return nil
	}
	return fmt.Errorf("storage.size: of a volume of %s mongod itself takes %s (%s), which is more than half; say at least %s, or a smaller --oplogSize in engine.args or %s in engine.parameters",
		figure.Bytes(r.Volume), figure.Bytes(r.Own()), r, figure.Bytes(2*r.Own()), diagnosticSize)
}

// CheckData refuses data that do not fit beside. The journal keeps what was written since the last checkpoint, the oplog frees
// nothing before the next one, and pages that were changed since then stand in their old form too.
func (r MongoRoom) CheckData(data int64) error {
	if r.Volume == 0 || data <= 0 {
		return nil
	}
	between := int64(r.Checkpoint.Seconds())
	needed := r.Own() + data*6/5 + min(data*13/10, changedPages*between) + min(3*data, written*between)
	if needed <= r.Volume {
		return nil
	}
	return fmt.Errorf("%s of data do not fit on a volume of %s: mongod itself takes %s (%s), and between two checkpoints, %s apart, the journal, the oplog and changed pages take more; say storage.size: %s, or fewer records",
		figure.Bytes(data), figure.Bytes(r.Volume), figure.Bytes(r.Own()), r, figure.Duration(r.Checkpoint), figure.Bytes((needed+mib-1)/mib*mib))
}
