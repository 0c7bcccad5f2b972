package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A standby that changes to a new timeline receives the segment in which the timeline begins again, from the start of
// the segment, although the file of the old timeline has most of it. If the standby is killed meanwhile, the file of
// the new timeline has less than the old one. Recovery reads the file of the newest timeline first, finds its WAL too
// short, and PostgreSQL ends at every start: "according to history file, WAL location … belongs to timeline …, but
// previous recovered WAL file came from timeline …".

// begun is the end of the newest timeline's WAL on a member's disk, and its incomplete file if the timeline has not
// begun there.
type begun struct {
	timeline int64
	end      LSN    // of the last complete record, 0 for none
	older    int64  // timeline whose file of the same segment has at least as much, 0 for none
	olderEnd LSN    // of its last complete record
	file     string // of the newest timeline, to be removed if older is not 0
}

// firstRecord exceeds the size of the first record of a timeline with page headers.
const firstRecord = 16 << 10

// beginning finds out whether the newest timeline has begun on the member's disk. The member's WAL must not grow.
func (p *Postgres) beginning(ctx context.Context) (b begun, err error) {
	if b.timeline, err = p.newestTimeline(); err != nil || b.timeline == 1 {
		return b, err
	}
	text, err := os.ReadFile(filepath.Join(p.postgresDir(), "pg_wal", fmt.Sprintf("%08X.history", b.timeline)))
	if err != nil {
		return b, nil // its begin is unknown
	}
	forks, err := parseHistory(string(text))
	if err != nil || len(forks) == 0 {
		return b, err
	}
	fork := forks[len(forks)-1].At
	start := fork - fork%segmentSize
	names, err := p.segments()
	if err != nil {
		return b, err
	}
	older := int64(0)
	for _, n := range names {
		tli, at, err := parseSegment(n)
		switch {
		case err != nil:
		case tli == b.timeline && at == start:
			b.file = filepath.Join(p.postgresDir(), "pg_wal", n)
		case at == start:
			older = max(older, tli)
		}
	}
	if b.file == "" || older == 0 {
		return b, nil
	}
	// After a checkpoint on the new timeline the next start needs this file or later ones.
	if c, err := p.control(ctx); err != nil || c.timeline == b.timeline {
		return b, err
	}
	// The record at the fork is the first of the new timeline, and short. Later segments prove nothing, because they are
	// made in advance. pg_waldump reads only records that end before its end position.
	if b.end, err = p.lastRecord(ctx, b.timeline, start, fork+firstRecord); err != nil || b.end > fork {
		return b, err
	}
	end, err := p.lastRecord(ctx, older, start, 0)
	if err == nil && end >= b.end {
		b.older, b.olderEnd = older, end
	}
	return b, err
}

// dropUnbegun removes the file of a timeline that has not begun on a member's disk, so that recovery reads the same WAL
// from the file of the older timeline, which has at least as much. No WAL is lost: up to the fork both are the same.
func (p *Postgres) dropUnbegun(ctx context.Context) error {
	if _, err := os.Stat(p.signalFile()); err != nil {
		return nil // a primary writes its own timeline
	}
	b, err := p.beginning(ctx)
	if err != nil || b.older == 0 {
		return err
	}
	if err := os.Remove(b.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(b.file))
}
