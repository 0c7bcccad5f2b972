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

// Lost describes the WAL of a member that was rolled back when it joined a primary from which it had diverged.
type Lost struct {
	Member   string    `json:"member"`
	When     time.Time `json:"when"`
	Timeline int64     `json:"timeline"` // of the member
	Fork     string    `json:"fork"`     // where the primary has left that timeline
	End      string    `json:"end"`      // of the member's WAL
	Bytes    int64     `json:"bytes"`    // between them
	// Transactions is the number of commits in between. Some may have been acknowledged.
	Transactions int `json:"transactions"`
	// Kept is the directory with the WAL segments, for pg_waldump. It is empty if nothing was rolled back.
	Kept string `json:"kept,omitempty"`
	// Cloned reports that all data were copied from the primary.
	Cloned bool `json:"cloned,omitempty"`
}

// Rejoin makes a stopped member a standby of a running primary. WAL that the primary does not have is copied to
// DATA/lost and rolled back. The caller must start the member.
func (p *Postgres) Rejoin(ctx context.Context, primary *Postgres) (Lost, error) {
	lost := Lost{Member: p.name, When: time.Now().UTC()}
	if p.Status().Running {
		return lost, fmt.Errorf("%s runs: stop it before it joins again", p.name)
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
	if same, err := p.sharesTimeline(ctx, primary, at, forks); err != nil || !same {
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
			return lost, fmt.Errorf("%s does not join, because its unreplicated WAL cannot be copied to %s: %w", p.name, lostDir, err)
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

// measureLost finds the end of the member's WAL, and how much of it the primary does not have. known is false if the
// member's timeline is not in the primary's history.
func (p *Postgres) measureLost(ctx context.Context, lost *Lost, timeline int64, forks []Fork) (known bool, err error) {
	if _, err := os.Stat(p.rewinding()); err == nil {
		return false, nil // the interrupted rejoin has kept it
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

// sharesTimeline reports whether a member whose newest timeline has the same number as the primary's is on the same
// timeline. Two members that are promoted one after the other give their timelines the same number if the second has
// not heard of the first. So a member that was primary of a timeline with that number, or that has more WAL than the
// primary, is on another timeline. pg_rewind compares only numbers and would do nothing.
func (p *Postgres) sharesTimeline(ctx context.Context, primary *Postgres, at Position, forks []Fork) (bool, error) {
	newest, err := p.newestTimeline()
	_, rewinding := os.Stat(p.rewinding())
	if err != nil || newest != at.Timeline || rewinding == nil {
		return true, err // measureLost looks other numbers up in the primary's history
	}
	c, err := p.control(ctx)
	if err != nil {
		return false, err
	}
	if c.led { // the timeline of the checkpoint is outdated soon after a promotion
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
	again, err := primary.Position(ctx) // its WAL has grown meanwhile
	return end <= again.LSN, err
}

// segments returns the names of the WAL segments.
func (p *Postgres) segments() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(p.postgresDir(), "pg_wal"))
	for _, e := range entries {
		if len(e.Name()) == 24 && strings.Trim(e.Name(), "0123456789ABCDEF") == "" {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// newestTimeline returns the last timeline that the member wrote or received. PostgreSQL renames segments for reuse
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
		err = errors.New("there is no WAL")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.name, err)
	}
	return newest, nil
}

// readLog reads the WAL of a stopped member from a position to its end.
func (p *Postgres) readLog(ctx context.Context, timeline int64, from LSN) (end LSN, commits int, err error) {
	// pg_waldump returns an error at the end of the WAL. Its output before counts.
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_waldump", "/bin/sh", "-c",
		fmt.Sprintf("%s/pg_waldump -p %s/%s/pg_wal -t %d -s %s 2>&1; true", pgBin, dataMount, postgresDir, timeline, from)))
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read the WAL of %s: %w", p.name, err)
	}
	end, commits = parseWaldump(string(out))
	return end, commits, nil
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

// segmentSize is initdb's default for WAL segments.
const segmentSize = 16 << 20

// keepLost copies the segments from the fork on to DATA/lost with a description.
func (p *Postgres) keepLost(lost *Lost) error {
	fork, err := ParseLSN(lost.Fork)
	if err != nil {
		return err
	}
	end, err := ParseLSN(lost.End)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.DataDir(), lostDir,
		fmt.Sprintf("%s-timeline-%d", lost.When.Format("20060102T150405.000000"), lost.Timeline))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for n := uint64(fork) / segmentSize; n <= uint64(end)/segmentSize; n++ {
		name := fmt.Sprintf("%08X%08X%08X", lost.Timeline, n*segmentSize>>32, n%(1<<32/segmentSize))
		err := copyOwned(filepath.Join(p.postgresDir(), "pg_wal", name), filepath.Join(dir, name),
			int(p.inst.uid), int(p.inst.gid))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	lost.Kept = dir
	return writeJSON(filepath.Join(dir, "lost.json"), lost)
}

// rewinding is a file that exists during a rewind, while the data are a mix of two members.
func (p *Postgres) rewinding() string { return filepath.Join(p.DataDir(), "rewinding") }

// rewind replaces the data that have changed since the fork by the primary's. pg_rewind first starts PostgreSQL as a
// primary to finish its recovery, so rewind removes the standby's signal file. An interrupted rewind cannot be
// repeated.
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
	defer func() { _ = p.Retire() }() // even after an error it must not start as a primary
	if err := p.writeFiles(); err != nil {
		return err
	}
	removeSharedMemory(p.DataDir())
	if err := os.Remove(filepath.Join(p.postgresDir(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	u := primary.Upstream()
	s := p.inst.program(p.DataDir(), "pg_rewind", pgBin+"/pg_rewind", "--target-pgdata="+dataMount+"/"+postgresDir,
		"--config-file="+dataMount+"/"+settingsFile, "--source-server=host="+u.Host+" port="+strconv.Itoa(u.Port)+
			" user="+postgresUser+" dbname=postgres sslmode=disable connect_timeout=5")
	s.Env = append(s.Env, "PGPASSWORD="+p.o.Password)
	if out, err := p.Host().Run(ctx, s); err != nil {
		return fmt.Errorf("pg_rewind of %s failed: %w%s", p.name, err, tailOf(out))
	}
	return os.Remove(p.rewinding())
}

// Clone replaces all data by a copy of the primary's. Its slot keeps the WAL that is written meanwhile.
func (p *Postgres) Clone(ctx context.Context, primary *Postgres) error {
	if p.Status().Running {
		return fmt.Errorf("%s runs: stop it before its data are replaced", p.name)
	}
	if _, err := prepareData(p.DataDir(), p.inst.uid, p.inst.gid); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	fresh := p.postgresDir() + ".clone"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	u := primary.Upstream()
	s := p.inst.program(p.DataDir(), "pg_basebackup", pgBin+"/pg_basebackup", "-D", dataMount+"/"+postgresDir+".clone",
		"-X", "stream", "-S", slotName(p.name), "-c", "fast", "-h", u.Host, "-p", strconv.Itoa(u.Port), "-U", postgresUser)
	s.Env = append(s.Env, "PGPASSWORD="+p.o.Password, "PGCONNECT_TIMEOUT=5")
	if out, err := p.Host().Run(ctx, s); err != nil {
		return errors.Join(fmt.Errorf("pg_basebackup of %s failed: %w%s", p.name, err, tailOf(out)), os.RemoveAll(fresh))
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
