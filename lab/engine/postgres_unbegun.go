package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A standby that goes over to a new timeline receives the segment in which that begins anew, from the segment's
// beginning, although it has all of it but the end under the number of the old timeline. If it is killed in between, the file of the
// new timeline has only a part of what the other one has; recovery takes the file of the newest timeline first, finds
// its log too short, and PostgreSQL ends: "according to history file, WAL location … belongs to timeline …, but previous
// recovered WAL file came from timeline …". It would do so at every start, whether there is a primary or not.

// begun is how far the log of the newest timeline goes on a member's disk, and which file is in the way if that timeline
// has not begun there.
type begun struct {
	timeline int64
	end      LSN    // of the last whole record, 0 if nothing was found
	older    int64  // the timeline whose file of the same segment goes at least as far, 0 if there is none
	olderEnd LSN    // and how far
	file     string // of the newest timeline, to be removed if an older one does
}

// firstRecord is more than the first record of a timeline and the headers of pages that may lie in it take.
const firstRecord = 16 << 10

// beginning looks whether the newest timeline has begun on the member's disk. The member's log must not grow.
func (p *Postgres) beginning(ctx context.Context) (b begun, err error) {
	if b.timeline, err = p.newestTimeline(); err != nil || b.timeline == 1 {
		return b, err
	}
	text, err := os.ReadFile(filepath.Join(p.postgresDir(), "pg_wal", fmt.Sprintf("%08X.history", b.timeline)))
	if err != nil {
		return b, nil // where it begins is not known, so nothing can be said
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
	// A checkpoint on the new timeline is needed at the next start, and it is in this file or a later one.
	if c, err := p.control(ctx); err != nil || c.timeline == b.timeline {
		return b, err
	}
	// The record at the fork is the first of the new timeline, and short. Later segments of it say nothing: they are made
	// in advance. pg_waldump reads nothing of a record that does not lie wholly before where it is to end.
	if b.end, err = p.lastRecord(ctx, b.timeline, start, fork+firstRecord); err != nil || b.end > fork {
		return b, err
	}
	end, err := p.lastRecord(ctx, older, start, 0)
	if err == nil && end >= b.end {
		b.older, b.olderEnd = older, end
	}
	return b, err
}

// dropUnbegun removes the file of a timeline that has not begun on a member's disk, so that recovery reads the same log
// from the file of an older one, which goes at least as far. Nothing is lost: up to the fork both are the same.
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
