package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// control is what PostgreSQL's control file says, as far as it is about the write-ahead log.
type control struct {
	redo     LSN   // where recovery would begin
	timeline int64 // of the last checkpoint
	// minimum is up to where a standby must apply its log before what it shows is consistent; 0 for a primary. It never
	// is beyond what had been written to its disk once.
	minimum LSN
	// led says whether it was a primary when the file was written last, also one that ended in between.
	led bool
}

// LogEnd finds where the write-ahead log on a member's disk ends, without its help: it need not run, or runs and does not
// answer, as a standby that has not applied enough to be consistent. It counts what the control file says that the
// log had reached once, also if the log ends before: a disk can lose what it had acknowledged. The log must not grow
// meanwhile.
func (p *Postgres) LogEnd(ctx context.Context) (Position, error) {
	end, c, err := p.logEnd(ctx)
	end.LSN = max(end.LSN, c.minimum)
	return end, err
}

// LogOnDisk is [Postgres.LogEnd] of what is really there.
func (p *Postgres) LogOnDisk(ctx context.Context) (Position, error) {
	end, _, err := p.logEnd(ctx)
	return end, err
}

func (p *Postgres) logEnd(ctx context.Context) (Position, control, error) {
	at := Position{Standby: true}
	if _, err := os.Stat(p.rewinding()); err == nil {
		return at, control{}, fmt.Errorf("%s: its data were being rewound when that was interrupted, so its log is nobody's", p.name)
	}
	c, err := p.control(ctx)
	if err != nil {
		return at, c, err
	}
	b, err := p.beginning(ctx)
	if err != nil {
		return at, c, err
	}
	at.Timeline = b.timeline
	if b.older != 0 {
		at.Timeline, at.LSN = b.older, b.olderEnd
		return at, c, nil
	}
	from, err := p.firstSegment(at.Timeline, c)
	if err != nil {
		return at, c, err
	}
	end, err := p.lastRecord(ctx, at.Timeline, from, 0)
	at.LSN = max(end, from)
	return at, c, err
}

// LogNear is where the whole records of a timeline end on the disk of a member, seen from shortly before a position
// that its log has reached or should have; 0 if there are none. Unlike [Postgres.LogOnDisk] it reads two segments at most
// before that position, however much log there is.
func (p *Postgres) LogNear(ctx context.Context, timeline int64, near LSN) (LSN, error) {
	names, err := p.segments()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.name, err)
	}
	own := near - near%segmentSize
	from, found := LSN(0), false
	for _, n := range names {
		tli, at, err := parseSegment(n)
		if err == nil && tli == timeline && at <= own && at+segmentSize >= own && (!found || at < from) {
			from, found = at, true
		}
	}
	if !found {
		return 0, nil
	}
	return p.lastRecord(ctx, timeline, from, 0)
}

// lastRecord is where the last whole record ends of those that follow each other from a position on, and lie before
// another one unless that is 0; 0 if there is none.
func (p *Postgres) lastRecord(ctx context.Context, timeline int64, from, until LSN) (LSN, error) {
	end := ""
	if until > 0 {
		end = "-e " + until.String()
	}
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_waldump", "/bin/sh", "-c",
		fmt.Sprintf("%s/pg_waldump -p %s/%s/pg_wal -t %d -s %s %s 2>/dev/null | tail -n 1", pgBin, dataMount, postgresDir, timeline, from, end)))
	if err != nil {
		return 0, fmt.Errorf("%s: cannot read the write-ahead log: %w", p.name, err)
	}
	last, _ := parseWaldump(string(out))
	return last, nil
}

// firstSegment is the beginning of the segment from which on the log of a timeline is read: that of the last checkpoint,
// or the first there is if the timeline is newer than that.
func (p *Postgres) firstSegment(timeline int64, c control) (LSN, error) {
	if timeline == c.timeline {
		return c.redo - c.redo%segmentSize, nil
	}
	names, err := p.segments()
	if err != nil {
		return 0, err
	}
	first, found := LSN(0), false
	for _, n := range names {
		tli, at, err := parseSegment(n)
		if err == nil && tli == timeline && (!found || at < first) {
			first, found = at, true
		}
	}
	if !found {
		return 0, fmt.Errorf("%s has no log of timeline %d", p.name, timeline)
	}
	return first, nil
}

// parseSegment reads the name of a segment: timeline, and where it begins.
func parseSegment(name string) (timeline int64, at LSN, err error) {
	if len(name) != 24 {
		return 0, 0, fmt.Errorf("%q is not a segment of the write-ahead log", name)
	}
	var part [3]uint64
	for i := range part {
		if part[i], err = strconv.ParseUint(name[8*i:8*i+8], 16, 32); err != nil {
			return 0, 0, fmt.Errorf("%q is not a segment of the write-ahead log", name)
		}
	}
	return int64(part[0]), LSN(part[1]<<32 + part[2]*segmentSize), nil
}

// control reads the control file.
func (p *Postgres) control(ctx context.Context) (control, error) {
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_controldata", pgBin+"/pg_controldata", "-D", dataMount+"/"+postgresDir))
	if err != nil {
		return control{}, fmt.Errorf("%s: cannot read the control file: %w%s", p.name, err, tailOf(out))
	}
	c, err := parseControl(string(out))
	if err != nil {
		return c, fmt.Errorf("%s: %w", p.name, err)
	}
	return c, nil
}

// parseControl reads what pg_controldata prints: lines of a name, a colon and a value.
func parseControl(text string) (control, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			values[name] = strings.TrimSpace(value)
		}
	}
	// The states of a standby are "in archive recovery" and "shut down in recovery"; "in crash recovery" is a primary that
	// starts again.
	state := values["Database cluster state"]
	c := control{led: !slices.Contains([]string{"in archive recovery", "shut down in recovery"}, state)}
	var errs [3]error
	c.redo, errs[0] = ParseLSN(values["Latest checkpoint's REDO location"])
	c.minimum, errs[1] = ParseLSN(values["Minimum recovery ending location"])
	c.timeline, errs[2] = strconv.ParseInt(values["Latest checkpoint's TimeLineID"], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return c, fmt.Errorf("the control file is not understood: %w", err)
	}
	return c, nil
}

// Follows says whether the member is a standby of the primary at an address, running or at its next start.
func (p *Postgres) Follows(u Upstream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upstream != "" && p.upstream == p.conninfo(u)
}

// Checkpoint writes a primary's data to its disk; a standby's up to the last checkpoint of its primary that it applied.
func (p *Postgres) Checkpoint(ctx context.Context) error {
	if _, err := p.socket.query(ctx, "checkpoint"); err != nil {
		return fmt.Errorf("%s made no checkpoint: %w", p.name, err)
	}
	return nil
}

// Consistent is up to where a standby has to apply its log at its next start before it answers.
func (p *Postgres) Consistent(ctx context.Context) (LSN, error) {
	c, err := p.control(ctx)
	return c.minimum, err
}
