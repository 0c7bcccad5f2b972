package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lost is what a member gave up when it joined a primary that had gone another way.
type Lost struct {
	Member   string    `json:"member"`
	When     time.Time `json:"when"`
	Timeline int64     `json:"timeline"` // of the member
	Fork     string    `json:"fork"`     // where the primary had left that timeline
	End      string    `json:"end"`      // of the member's write-ahead log
	Bytes    int64     `json:"bytes"`    // between them
	// Transactions are those that were committed in between. Some may have been acknowledged.
	Transactions int `json:"transactions"`
	// Kept is the directory with the segments of the write-ahead log; pg_waldump reads them. It is empty if nothing was given up.
	Kept string `json:"kept,omitempty"`
	// Cloned says that all data were copied from the primary anew.
	Cloned bool `json:"cloned,omitempty"`
}

// Rejoin makes a member that has ended a standby of primary, which runs. What the member has and the primary has not is
// kept in DATA/lost and then given up. The member has to be started afterwards.
func (p *Postgres) Rejoin(ctx context.Context, primary *Postgres) (Lost, error) {
	lost := Lost{Member: p.name, When: time.Now().UTC()}
	if p.Status().Running {
		return lost, fmt.Errorf("%s runs: it has to be stopped before it joins again", p.name)
	}
	at, err := primary.Position(ctx)
	if err != nil {
		return lost, err
	}
	forks, err := primary.Forks(ctx, at.Timeline)
	if err != nil {
		return lost, err
	}
	if _, err := os.Stat(p.postgresDir()); errors.Is(err, os.ErrNotExist) { // an empty volume
		lost.Cloned = true
		return lost, p.Clone(ctx, primary)
	}
	if same, err := p.wentSameWay(ctx, primary, at, forks); err != nil || !same {
		if err == nil {
			lost.Cloned, err = true, p.Clone(ctx, primary)
		}
		return lost, err
	}
	known, err := p.measureLost(ctx, &lost, at.Timeline, forks)
	if err != nil {
		return lost, err
	}
	if lost.Bytes > 0 {
		if err := p.keepLost(&lost); err != nil {
			return lost, fmt.Errorf("%s: what it must give up cannot be kept, so it does not join: %w", p.name, err)
		}
	}
	if lost.Bytes > 0 || !known {
		if why := p.rewind(ctx, primary); why != nil {
			if err := p.Clone(ctx, primary); err != nil {
				return lost, errors.Join(why, err)
			}
			lost.Cloned = true
		}
	}
	return lost, p.Follow(ctx, primary.Upstream())
}

// measureLost finds where the member's write-ahead log ends and how much of it the primary has not. known is false if
// the member's timeline is not in the primary's history.
func (p *Postgres) measureLost(ctx context.Context, lost *Lost, timeline int64, forks []Fork) (known bool, err error) {
	if _, err := os.Stat(p.rewinding()); err == nil {
		return false, nil // what it had was kept then
	}
	if lost.Timeline, err = p.newestTimeline(); err != nil {
		return false, err
	}
	if lost.Timeline == timeline {
		return true, nil
	}
	i := slices.IndexFunc(forks, func(f Fork) bool { return f.Timeline == lost.Timeline })
	if i < 0 {
		return false, nil
	}
	fork := forks[i].At
	end, commits, err := p.readLog(ctx, lost.Timeline, fork)
	if err != nil {
		return false, err
	}
	lost.Fork, lost.End, lost.Transactions = fork.String(), max(end, fork).String(), commits
	if end > fork {
		lost.Bytes = int64(end - fork)
	}
	return true, nil
}

// wentSameWay says whether a member whose newest timeline has the number of the primary's really is on that one, so that
// it can follow. It is not if it led a timeline of that number itself: two members that are promoted one after the
// other, the second without having heard of the first, give their timelines the same number. It cannot be if it has more
// than the primary. pg_rewind compares numbers only and would find nothing to do.
func (p *Postgres) wentSameWay(ctx context.Context, primary *Postgres, at Position, forks []Fork) (bool, error) {
	newest, err := p.newestTimeline()
	_, rewinding := os.Stat(p.rewinding())
	if err != nil || newest != at.Timeline || rewinding == nil {
		return true, err // what has another number is found in the primary's history
	}
	c, err := p.control(ctx)
	if err != nil {
		return false, err
	}
	if c.led { // and what the checkpoint says of timelines is old soon after a promotion
		return false, nil
	}
	if newest > 1 {
		text, err := os.ReadFile(filepath.Join(p.postgresDir(), "pg_wal", fmt.Sprintf("%08X.history", newest)))
		own, parse := parseHistory(string(text))
		if err == nil && parse == nil && !slices.Equal(own, forks) {
			return false, nil
		}
	}
	end, err := p.LogNear(ctx, newest, at.LSN)
	if err != nil || end <= at.LSN {
		return true, err
	}
	again, err := primary.Position(ctx) // it went on meanwhile
	return end <= again.LSN, err
}

// segments are the files of the write-ahead log with the numbers in their names: timeline and place.
func (p *Postgres) segments() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(p.postgresDir(), "pg_wal"))
	for _, e := range entries {
		if len(e.Name()) == 24 && strings.Trim(e.Name(), "0123456789ABCDEF") == "" {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// newestTimeline is the last timeline that the member wrote or received. Segments are renamed for reuse in advance
// only within a timeline.
func (p *Postgres) newestTimeline() (int64, error) {
	names, err := p.segments()
	newest := int64(0)
	for _, n := range names {
		if tli, err := strconv.ParseInt(n[:8], 16, 64); err == nil {
			newest = max(newest, tli)
		}
	}
	if err == nil && newest == 0 {
		err = errors.New("there is no write-ahead log")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.name, err)
	}
	return newest, nil
}

// readLog reads the write-ahead log of a stopped member from a position to its end.
func (p *Postgres) readLog(ctx context.Context, timeline int64, from LSN) (end LSN, commits int, err error) {
	// pg_waldump fails where the log ends, because nothing says that it does. What it printed before counts.
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_waldump", "/bin/sh", "-c",
		fmt.Sprintf("%s/pg_waldump -p %s/%s/pg_wal -t %d -s %s 2>&1; true", pgBin, dataMount, postgresDir, timeline, from)))
	if err != nil {
		return 0, 0, fmt.Errorf("%s: cannot read the write-ahead log: %w", p.name, err)
	}
	end, commits = parseWaldump(string(out))
	return end, commits, nil
}

// parseWaldump finds the start of the last record, which is as near to the end as a reader can say, and counts commits:
//
//	rmgr: Transaction len (rec/tot): 34/34, tx: 777, lsn: 0/0303A2B8, prev 0/0303A270, desc: COMMIT 2026-…
func parseWaldump(text string) (end LSN, commits int) {
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(line, ", lsn: ")
		if !ok || !strings.HasPrefix(line, "rmgr: ") {
			continue
		}
		at, _, _ := strings.Cut(rest, ",")
		lsn, err := ParseLSN(at)
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

// segmentSize is the size of a file of the write-ahead log, as initdb makes it.
const segmentSize = 16 << 20

// keepLost copies the segments from the fork on to DATA/lost, with a description.
func (p *Postgres) keepLost(lost *Lost) error {
	fork, err := ParseLSN(lost.Fork)
	if err != nil {
		return err
	}
	end, err := ParseLSN(lost.End)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.DataDir(), lostDir, fmt.Sprintf("%s-timeline-%d", lost.When.Format("20060102T150405.000000"), lost.Timeline))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for n := uint64(fork) / segmentSize; n <= uint64(end)/segmentSize; n++ {
		name := fmt.Sprintf("%08X%08X%08X", lost.Timeline, n*segmentSize>>32, n%(1<<32/segmentSize))
		err := copyOwned(filepath.Join(p.postgresDir(), "pg_wal", name), filepath.Join(dir, name), int(p.inst.uid), int(p.inst.gid))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	lost.Kept = dir
	return writeJSON(filepath.Join(dir, "lost.json"), lost)
}

// rewinding is a file that is there while data are neither the member's own nor the primary's.
func (p *Postgres) rewinding() string { return filepath.Join(p.DataDir(), "rewinding") }

// rewind makes the data those of the primary at the fork and later. It has to run as a primary for a moment to finish
// its own recovery, which a standby's mark would forbid. One that was interrupted cannot be repeated.
func (p *Postgres) rewind(ctx context.Context, primary *Postgres) error {
	if _, err := os.Stat(p.rewinding()); err == nil {
		return fmt.Errorf("%s: an earlier rewind was interrupted", p.name)
	}
	if err := os.WriteFile(p.rewinding(), nil, 0o600); err != nil {
		return err
	}
	if err := os.Remove(p.signalFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer func() { _ = p.Retire() }() // whatever happens, it does not start as a primary
	if err := p.writeFiles(); err != nil {
		return err
	}
	removeSharedMemory(p.DataDir())
	if err := os.Remove(filepath.Join(p.postgresDir(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s := p.inst.program(p.DataDir(), "pg_rewind", pgBin+"/pg_rewind", "--target-pgdata="+dataMount+"/"+postgresDir,
		"--config-file="+dataMount+"/"+settingsFile, "--source-server=host="+primary.Upstream().Host+" port="+strconv.Itoa(primary.Upstream().Port)+
			" user="+postgresUser+" dbname=postgres sslmode=disable connect_timeout=5")
	s.Env = append(s.Env, "PGPASSWORD="+p.o.Password)
	if out, err := p.Host().Run(ctx, s); err != nil {
		return fmt.Errorf("%s was not rewound: %w%s", p.name, err, tailOf(out))
	}
	return os.Remove(p.rewinding())
}

// Clone replaces all data by a copy of the primary's. Its slot keeps what is written meanwhile.
func (p *Postgres) Clone(ctx context.Context, primary *Postgres) error {
	if p.Status().Running {
		return fmt.Errorf("%s runs: it has to be stopped before its data are replaced", p.name)
	}
	if _, err := prepareData(p.DataDir(), p.inst.uid, p.inst.gid); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	fresh := p.postgresDir() + ".clone"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	u := primary.Upstream()
	s := p.inst.program(p.DataDir(), "pg_basebackup", pgBin+"/pg_basebackup", "-D", dataMount+"/"+postgresDir+".clone", "-X", "stream",
		"-S", slotName(p.name), "-c", "fast", "-h", u.Host, "-p", strconv.Itoa(u.Port), "-U", postgresUser)
	s.Env = append(s.Env, "PGPASSWORD="+p.o.Password, "PGCONNECT_TIMEOUT=5")
	if out, err := p.Host().Run(ctx, s); err != nil {
		return errors.Join(fmt.Errorf("%s was not cloned: %w%s", p.name, err, tailOf(out)), os.RemoveAll(fresh))
	}
	removeSharedMemory(p.DataDir())
	if err := os.RemoveAll(p.postgresDir()); err != nil {
		return err
	}
	if err := os.Rename(fresh, p.postgresDir()); err != nil {
		return err
	}
	if err := os.Remove(p.rewinding()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return p.Follow(ctx, u)
}
