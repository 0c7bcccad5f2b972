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

// control has the fields of PostgreSQL's control file about the WAL.
type control struct {
	redo     LSN   // start of recovery
	timeline int64 // of the last checkpoint
	// minimum is the position up to which a standby must replay its WAL to be consistent; 0 for a primary. The WAL on its
	// disk has reached it once.
	minimum LSN
	// led reports whether the member was a primary at the last write of the file.
	led bool
}

// LogEnd returns the end of the WAL on a member's disk. The member need not run or answer, as a standby that is not
// consistent yet. If the control file has a later position, LogEnd returns that: the disk may have lost acknowledged
// WAL. The WAL must not grow meanwhile.
func (p *Postgres) LogEnd(ctx context.Context) (Position, error) {
	end, c, err := p.logEnd(ctx)
	end.LSN = max(end.LSN, c.minimum)
	return end, err
}

// LogOnDisk is [Postgres.LogEnd] without the control file: the end of the WAL that is on the disk.
func (p *Postgres) LogOnDisk(ctx context.Context) (Position, error) {
	end, _, err := p.logEnd(ctx)
	return end, err
}

func (p *Postgres) logEnd(ctx context.Context) (Position, control, error) {
	at := Position{Standby: true}
	if _, err := os.Stat(p.rewinding()); err == nil {
		return at, control{}, fmt.Errorf("pg_rewind of %s was interrupted, so its WAL cannot be used", p.name)
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

// LogNear returns the end of the complete WAL records of a timeline on a member's disk, or 0 if there are none. near is
// a position that the WAL has or should have reached: LogNear reads at most two segments before it, while
// [Postgres.LogOnDisk] reads all WAL since the last checkpoint.
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

// lastRecord returns the end of the last complete record in a sequence of records that starts at from and ends before
// until (0 for no limit); 0 if there is no record.
func (p *Postgres) lastRecord(ctx context.Context, timeline int64, from, until LSN) (LSN, error) {
	end := ""
	if until > 0 {
		end = "-e " + until.String()
	}
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_waldump", "/bin/sh", "-c",
		fmt.Sprintf("%s/pg_waldump -p %s/%s/pg_wal -t %d -s %s %s 2>/dev/null | tail -n 1", pgBin, dataMount, postgresDir,
			timeline, from, end)))
	if err != nil {
		return 0, fmt.Errorf("cannot read the WAL of %s: %w", p.name, err)
	}
	last, _ := parseWaldump(string(out))
	return last, nil
}

// firstSegment returns the start of the first WAL segment to read of a timeline: the segment of the last checkpoint, or
// the first segment if the timeline is newer.
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
		return 0, fmt.Errorf("%s has no WAL of timeline %d", p.name, timeline)
	}
	return first, nil
}

// parseSegment reads timeline and start from the name of a WAL segment.
func parseSegment(name string) (timeline int64, at LSN, err error) {
	if len(name) != 24 {
		return 0, 0, fmt.Errorf("%q is not a WAL segment", name)
	}
	var part [3]uint64
	for i := range part {
		if part[i], err = strconv.ParseUint(name[8*i:8*i+8], 16, 32); err != nil {
			return 0, 0, fmt.Errorf("%q is not a WAL segment", name)
		}
	}
	return int64(part[0]), LSN(part[1]<<32 + part[2]*segmentSize), nil
}

func (p *Postgres) control(ctx context.Context) (control, error) {
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_controldata", pgBin+"/pg_controldata",
		"-D", dataMount+"/"+postgresDir))
	if err != nil {
		return control{}, fmt.Errorf("cannot read the control file of %s: %w%s", p.name, err, tailOf(out))
	}
	c, err := parseControl(string(out))
	if err != nil {
		return c, fmt.Errorf("%s: %w", p.name, err)
	}
	return c, nil
}

// parseControl reads the output of pg_controldata: lines of a name, a colon and a value.
func parseControl(text string) (control, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			values[name] = strings.TrimSpace(value)
		}
	}
	// The states of a standby are "in archive recovery" and "shut down in recovery"; a restarting primary is "in crash
	// recovery".
	state := values["Database cluster state"]
	c := control{led: !slices.Contains([]string{"in archive recovery", "shut down in recovery"}, state)}
	var errs [3]error
	c.redo, errs[0] = ParseLSN(values["Latest checkpoint's REDO location"])
	c.minimum, errs[1] = ParseLSN(values["Minimum recovery ending location"])
	c.timeline, errs[2] = strconv.ParseInt(values["Latest checkpoint's TimeLineID"], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return c, fmt.Errorf("cannot parse the control file: %w", err)
	}
	return c, nil
}

// Follows reports whether the member is a standby of the primary at an address, or will be after its next start.
func (p *Postgres) Follows(u Upstream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upstream != "" && p.upstream == p.conninfo(u)
}

// Checkpoint writes a primary's data to its disk; those of a standby up to the last replayed checkpoint of its primary.
func (p *Postgres) Checkpoint(ctx context.Context) error {
	if _, err := p.socket.query(ctx, "checkpoint"); err != nil {
		return fmt.Errorf("%s: checkpoint: %w", p.name, err)
	}
	return nil
}

// Consistent returns the position up to which a standby must replay its WAL at its next start before it answers.
func (p *Postgres) Consistent(ctx context.Context) (LSN, error) {
	c, err := p.control(ctx)
	return c.minimum, err
}
