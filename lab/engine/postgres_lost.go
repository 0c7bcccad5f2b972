package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
)

// Lost describes the WAL of a member that pg_rewind rolled back when the member joined a primary from which it had
// diverged.
type Lost struct {
	Member   string    `json:"member"`
	When     time.Time `json:"when"`
	Timeline int64     `json:"timeline"` // of the member
	Fork     string    `json:"fork"`     // where the primary has left that timeline
	End      string    `json:"end"`      // of the member's WAL
	Bytes    int64     `json:"bytes"`    // between them
	// Transactions is the number of commits in between. Some may have been acknowledged.
	Transactions int `json:"transactions"`
	// Kept is the directory with the WAL segments, for pg_waldump.
	Kept string `json:"kept"`
}

const (
	forkFile     = "fork"      // written by [rewindScript]: timeline and position
	describeFile = "lost.json" // a [Lost]
)

// TakeLost returns the WAL that was rolled back since the last call, without that of rewinds which rolled nothing back.
func (p *Postgres) TakeLost(ctx context.Context) ([]Lost, error) {
	forks, err := filepath.Glob(filepath.Join(escapeGlob(p.DataDir()), lostDir, "*", forkFile))
	if err != nil {
		return nil, err
	}
	var all []Lost
	for _, file := range forks {
		dir := filepath.Dir(file)
		if _, err := os.Stat(filepath.Join(dir, describeFile)); err == nil {
			continue
		}
		l, err := p.describeLost(ctx, file)
		if err != nil {
			return all, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := replace.JSON(filepath.Join(dir, describeFile), l, true); err != nil {
			return all, err
		}
		if l.Transactions > 0 {
			all = append(all, l)
		}
	}
	return all, nil
}

// describeLost reads kept WAL from the fork to its end.
func (p *Postgres) describeLost(ctx context.Context, file string) (Lost, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Lost{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return Lost{}, err
	}
	l := Lost{Member: p.name, When: info.ModTime().UTC(), Kept: filepath.Dir(file)}
	timeline, position, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	fork, err := parseLSN(position)
	if err != nil {
		return l, err
	}
	if l.Timeline, err = strconv.ParseInt(timeline, 10, 64); err != nil {
		return l, err
	}
	// pg_waldump returns an error at the end of the WAL. Its output before counts.
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_waldump", "/bin/sh", "-c",
		fmt.Sprintf("%s/pg_waldump -p %s/%s/%s -t %d -s %s 2>&1; true", pgBin, dataMount, lostDir,
			filepath.Base(l.Kept), l.Timeline, fork)))
	if err != nil {
		return l, fmt.Errorf("cannot read the WAL in %s: %w", l.Kept, err)
	}
	end, commits := parseWaldump(string(out))
	l.Fork, l.End, l.Transactions = fork.String(), max(end, fork).String(), commits
	l.Bytes = int64(max(end, fork) - fork)
	return l, nil
}

// parseWaldump returns the end of the last record and counts commits:
//
//	rmgr: Transaction len (rec/tot): 34/34, tx: 777, lsn: 0/0303A2B8, prev 0/0303A270, desc: COMMIT 2026-…
func parseWaldump(text string) (end LSN, commits int) {
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(line, ", lsn: ")
		if !ok || !strings.HasPrefix(line, "rmgr: ") {
			continue
		}
		at, _, _ := strings.Cut(rest, ",")
		lsn, err := parseLSN(at)
		if err != nil {
			continue
		}
		end = lsn + LSN(recordLength(line))
		if strings.HasPrefix(line, "rmgr: Transaction") && strings.Contains(line, "desc: COMMIT") {
			commits++
		}
	}
	return end, commits
}

// recordLength reads the total length of a record.
func recordLength(line string) uint64 {
	_, rest, _ := strings.Cut(line, "len (rec/tot):")
	rest, _, _ = strings.Cut(rest, ",")
	_, total, _ := strings.Cut(rest, "/")
	n, _ := strconv.ParseUint(strings.TrimSpace(total), 10, 32)
	return n
}

// TakeCloned reports whether all data of the member were copied from another one since the last call.
func (p *Postgres) TakeCloned() bool {
	err := os.Remove(filepath.Join(p.DataDir(), clonedFile))
	return err == nil || !errors.Is(err, os.ErrNotExist)
}
