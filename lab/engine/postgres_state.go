package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Position is the position of a member in the WAL.
type Position struct {
	Standby bool
	// Timeline of the WAL at LSN.
	Timeline int64
	// Settled is false while a standby has not replayed all of its own WAL after its start: it has more than LSN.
	Settled bool
	// LSN is the end of the member's WAL: flushed by a primary, received by a standby.
	LSN LSN
	// Receiving reports whether a standby is connected to a primary. From is the primary's address.
	Receiving bool
	From      string
}

// positionQuery reads the position of a member. A standby's timeline is the newest of its WAL segments: it makes the
// first segment of a timeline when it receives the first byte of it. The control file has the timeline of the last
// checkpoint, which is outdated for minutes after a promotion, and pg_stat_wal_receiver is empty without a primary. The
// position is evaluated before the timeline, so that a standby which changes its timeline meanwhile never reports more
// than it has.
//
// A standby requests WAL after it has replayed its own, and has a receive position only from then on. Without a primary
// its startup process waits for the next retry instead, which pg_stat_activity shows. Before that, its position is not
// the end of its WAL, and a promotion based on it could choose a standby with less.
const positionQuery = `select pg_is_in_recovery(),
	case when pg_is_in_recovery() then greatest(coalesce(pg_last_wal_receive_lsn(), '0/0'), coalesce(pg_last_wal_replay_lsn(), '0/0'))
		else pg_current_wal_flush_lsn() end,
	case when pg_is_in_recovery() then coalesce((select max(('x' || substr(name, 1, 8))::bit(32)::int) from pg_ls_waldir()
			where name ~ '^[0-9A-F]{24}$'), (select timeline_id from pg_control_checkpoint()))
		else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end,
	not pg_is_in_recovery() or pg_last_wal_receive_lsn() is not null or exists (select from pg_stat_activity
		where backend_type = 'startup' and wait_event in ('RecoveryRetrieveRetryInterval', 'RecoveryWalStream')),
	coalesce((select sender_host || ':' || sender_port from pg_stat_wal_receiver where status = 'streaming'), '')`

// Probe queries the position through the network.
func (p *Postgres) Probe(ctx context.Context) (Position, error) { return p.position(ctx, p.wire) }

// Position queries the position through the Unix socket.
func (p *Postgres) Position(ctx context.Context) (Position, error) { return p.position(ctx, p.socket) }

func (p *Postgres) position(ctx context.Context, c *pgClient) (Position, error) {
	rows, err := c.query(ctx, positionQuery)
	if err != nil || len(rows) != 1 {
		return Position{}, errors.Join(fmt.Errorf("cannot read the WAL position of %s", p.name), err)
	}
	r := rows[0]
	at := Position{Standby: r[0] == "t", Settled: r[3] == "t", From: r[4], Receiving: r[4] != ""}
	if at.Timeline, err = strconv.ParseInt(r[2], 10, 64); err != nil {
		return at, err
	}
	at.LSN, err = ParseLSN(r[1])
	return at, err
}

// Applied returns the end of the WAL that reads of this member see: flushed by a primary, replayed by a standby.
func (p *Postgres) Applied(ctx context.Context) (LSN, error) {
	rows, err := p.socket.query(ctx, `select case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
		else pg_current_wal_flush_lsn() end`)
	if err != nil || len(rows) != 1 {
		return 0, errors.Join(fmt.Errorf("cannot read the replay position of %s", p.name), err)
	}
	return ParseLSN(rows[0][0])
}

// PauseReplay pauses or resumes the replay of a standby.
func (p *Postgres) PauseReplay(ctx context.Context, on bool) error {
	call := "pg_wal_replay_resume()"
	if on {
		call = "pg_wal_replay_pause()"
	}
	if _, err := p.socket.query(ctx, "select "+call); err != nil {
		return fmt.Errorf("%s: cannot change its replay: %w", p.name, err)
	}
	return nil
}

// Standby is the state of a standby, from the primary.
type Standby struct {
	Name  string
	State string // "streaming", "catchup", "startup", "backup"
	Sync  string // "quorum", "async", "sync", "potential"
	// Flushed is the end of the WAL on its disk. LagBytes and LagSeconds are its replication lag, 0 if it has all WAL.
	Flushed    LSN
	LagBytes   int64
	LagSeconds float64
}

// Replication returns the standbys that are connected to the primary.
func (p *Postgres) Replication(ctx context.Context) ([]Standby, error) {
	rows, err := p.socket.query(ctx, `select application_name, state, sync_state, coalesce(flush_lsn, '0/0'),
		greatest(0, coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn), 0))::bigint,
		case when flush_lsn >= pg_current_wal_flush_lsn() then 0 else extract(epoch from coalesce(flush_lag, '0')) end
		from pg_stat_replication where application_name <> 'pg_basebackup'`)
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of replication from %s: %w", p.name, err)
	}
	var all []Standby
	for _, r := range rows {
		s := Standby{Name: r[0], State: r[1], Sync: r[2]}
		var errs [3]error
		s.Flushed, errs[0] = ParseLSN(r[3])
		s.LagBytes, errs[1] = strconv.ParseInt(r[4], 10, 64)
		s.LagSeconds, errs[2] = strconv.ParseFloat(r[5], 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Writers returns the number of transactions of clients in progress that have written.
func (p *Postgres) Writers(ctx context.Context) (int, error) {
	rows, err := p.socket.query(ctx, `select count(*) from pg_stat_activity
		where backend_type = 'client backend' and backend_xid is not null and pid <> pg_backend_pid()`)
	if err != nil || len(rows) == 0 {
		return 0, errors.Join(fmt.Errorf("cannot read the transactions of %s", p.name), err)
	}
	return strconv.Atoi(rows[0][0])
}

// MakeSlots makes a replication slot for each other member, so that WAL for standbys that are down is kept.
func (p *Postgres) MakeSlots(ctx context.Context) error {
	var sql strings.Builder
	for _, name := range p.o.Members {
		if name != p.name {
			slot := literal(slotName(name))
			fmt.Fprintf(&sql, "select pg_create_physical_replication_slot(%s, true) "+
				"where not exists (select from pg_replication_slots where slot_name = %[1]s);\n", slot)
		}
	}
	if sql.Len() == 0 {
		return nil
	}
	if _, err := p.socket.query(ctx, sql.String()); err != nil {
		return fmt.Errorf("%s: cannot make replication slots: %w", p.name, err)
	}
	return nil
}

// DropSlots removes the unused slots of a former primary.
func (p *Postgres) DropSlots(ctx context.Context) error {
	_, err := p.socket.query(ctx, "select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active")
	if err != nil {
		return fmt.Errorf("%s: cannot remove replication slots: %w", p.name, err)
	}
	return nil
}

// MakeUsers sets the superuser's password, and makes a role for the user of the gateways, which may be empty.
// PostgreSQL gets verifiers instead of passwords, so no log has them.
func (p *Postgres) MakeUsers(ctx context.Context, user, password string) error {
	super, err := verifier(p.o.Password, randomHex(8))
	if err != nil {
		return err
	}
	sql := fmt.Sprintf("alter role %s password %s;", postgresUser, literal(super))
	if user != "" {
		access := StartOptions{User: user, Password: password}
		if err := checkAccess(&access); err != nil {
			return err
		}
		secret, err := verifier(access.Password, randomHex(8))
		if err != nil {
			return err
		}
		sql += fmt.Sprintf(`do $$ begin if not exists (select from pg_roles where rolname = %s) then create role "%s"; end if; end $$;
			alter role "%s" with login password %s;`, literal(user), user, user, literal(secret))
	}
	if _, err := p.socket.query(ctx, sql); err != nil {
		return fmt.Errorf("%s: cannot make the users: %w", p.name, err)
	}
	return nil
}

// Fork is the end of a timeline, where the next one began.
type Fork struct {
	Timeline int64
	At       LSN
}

// Forks returns the forks in the history of a timeline of the member.
func (p *Postgres) Forks(ctx context.Context, timeline int64) ([]Fork, error) {
	if timeline <= 1 {
		return nil, nil
	}
	rows, err := p.socket.query(ctx, fmt.Sprintf("select pg_read_file('pg_wal/%08X.history')", timeline))
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("cannot read the history of timeline %d of %s: %w", timeline, p.name, err)
	}
	return parseHistory(rows[0][0])
}

// parseHistory reads a timeline history file: lines of timeline, position and reason, separated by tabs.
func parseHistory(text string) ([]Fork, error) {
	var forks []Fork
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := append(strings.Fields(line), "")
		tli, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cannot parse the line %q of a timeline history", line)
		}
		at, err := ParseLSN(f[1])
		if err != nil {
			return nil, err
		}
		forks = append(forks, Fork{tli, at})
	}
	return forks, nil
}
