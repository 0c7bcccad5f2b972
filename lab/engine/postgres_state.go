package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Position is how far a member is.
type Position struct {
	Standby bool
	// Timeline is the one that the write-ahead log at LSN belongs to.
	Timeline int64
	// Settled is false while a standby that was started has not yet read all of its own write-ahead log again: it has
	// more than LSN says.
	Settled bool
	// LSN is the end of the write-ahead log that the member has: flushed by a primary, received by a standby.
	LSN LSN
	// Receiving says whether a standby has a connection to a primary, and From is its address.
	Receiving bool
	From      string
}

// positionQuery asks a member how far it is. A standby's timeline is the newest of the files of its write-ahead log: it
// makes the first file of a timeline when it receives the first byte of it. What the control file says of timelines is
// written at checkpoints only, so it is of the past for minutes after a promotion, and what pg_stat_wal_receiver says is gone with
// the primary. The position comes before the timeline, and a select is evaluated from left to right: a standby that
// goes over to a new timeline meanwhile is told less than it has, never more.
//
// A standby that has read its own log to the end asks for more of it, and only from then on there is a position at
// which it receives. One that has no primary never asks: its startup process rests then until it looks again, which
// PostgreSQL shows as what it waits for. Whoever took its position for its end before would promote one that has less.
const positionQuery = `select pg_is_in_recovery(),
	case when pg_is_in_recovery() then greatest(coalesce(pg_last_wal_receive_lsn(), '0/0'), coalesce(pg_last_wal_replay_lsn(), '0/0'))
		else pg_current_wal_flush_lsn() end,
	case when pg_is_in_recovery() then coalesce((select max(('x' || substr(name, 1, 8))::bit(32)::int) from pg_ls_waldir()
			where name ~ '^[0-9A-F]{24}$'), (select timeline_id from pg_control_checkpoint()))
		else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end,
	not pg_is_in_recovery() or pg_last_wal_receive_lsn() is not null or exists (select from pg_stat_activity
		where backend_type = 'startup' and wait_event in ('RecoveryRetrieveRetryInterval', 'RecoveryWalStream')),
	coalesce((select sender_host || ':' || sender_port from pg_stat_wal_receiver where status = 'streaming'), '')`

// Probe asks the member through the network, as its clients would.
func (p *Postgres) Probe(ctx context.Context) (Position, error) { return p.position(ctx, p.wire) }

// Position asks the member through its Unix socket.
func (p *Postgres) Position(ctx context.Context) (Position, error) { return p.position(ctx, p.socket) }

func (p *Postgres) position(ctx context.Context, c *pgClient) (Position, error) {
	rows, err := c.query(ctx, positionQuery)
	if err != nil || len(rows) != 1 {
		return Position{}, errors.Join(fmt.Errorf("%s does not say how far it is", p.name), err)
	}
	r := rows[0]
	at := Position{Standby: r[0] == "t", Settled: r[3] == "t", From: r[4], Receiving: r[4] != ""}
	if at.Timeline, err = strconv.ParseInt(r[2], 10, 64); err != nil {
		return at, err
	}
	at.LSN, err = ParseLSN(r[1])
	return at, err
}

// Applied is the end of the write-ahead log that reads of this member see: flushed by a primary, replayed by a standby,
// which may have received more.
func (p *Postgres) Applied(ctx context.Context) (LSN, error) {
	rows, err := p.socket.query(ctx, `select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end`)
	if err != nil || len(rows) != 1 {
		return 0, errors.Join(fmt.Errorf("%s does not say what it has applied", p.name), err)
	}
	return ParseLSN(rows[0][0])
}

// PauseReplay stops a standby from applying what it receives, or lets it go on.
func (p *Postgres) PauseReplay(ctx context.Context, on bool) error {
	call := "pg_wal_replay_resume()"
	if on {
		call = "pg_wal_replay_pause()"
	}
	if _, err := p.socket.query(ctx, "select "+call); err != nil {
		return fmt.Errorf("%s: cannot hold its replay: %w", p.name, err)
	}
	return nil
}

// Standby is how the primary sees one of its standbys.
type Standby struct {
	Name  string
	State string // "streaming", "catchup", "startup", "backup"
	Sync  string // "quorum", "async", "sync", "potential"
	// Flushed is what it has on its disk, LagBytes what it has not yet, and LagSeconds how long ago the primary had as
	// little as that, 0 if it has everything.
	Flushed    LSN
	LagBytes   int64
	LagSeconds float64
}

// Replication is how the primary sees its standbys.
func (p *Postgres) Replication(ctx context.Context) ([]Standby, error) {
	rows, err := p.socket.query(ctx, `select application_name, state, sync_state, coalesce(flush_lsn, '0/0'),
		greatest(0, coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn), 0))::bigint,
		case when flush_lsn >= pg_current_wal_flush_lsn() then 0 else extract(epoch from coalesce(flush_lag, '0')) end
		from pg_stat_replication where application_name <> 'pg_basebackup'`)
	if err != nil {
		return nil, fmt.Errorf("%s does not say how its standbys are: %w", p.name, err)
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

// Writers is how many transactions of clients that write are under way.
func (p *Postgres) Writers(ctx context.Context) (int, error) {
	rows, err := p.socket.query(ctx, `select count(*) from pg_stat_activity
		where backend_type = 'client backend' and backend_xid is not null and pid <> pg_backend_pid()`)
	if err != nil || len(rows) == 0 {
		return 0, errors.Join(errors.New("the primary does not say what is under way"), err)
	}
	return strconv.Atoi(rows[0][0])
}

// MakeSlots makes a replication slot for each other member, so that what a standby that is away still needs is kept.
func (p *Postgres) MakeSlots(ctx context.Context) error {
	var sql strings.Builder
	for _, name := range p.o.Members {
		if name != p.name {
			slot := literal(slotName(name))
			fmt.Fprintf(&sql, "select pg_create_physical_replication_slot(%s, true) where not exists (select from pg_replication_slots where slot_name = %s);\n", slot, slot)
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

// DropSlots removes the slots of a member that is no primary any more: nobody would move them on.
func (p *Postgres) DropSlots(ctx context.Context) error {
	_, err := p.socket.query(ctx, "select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active")
	if err != nil {
		return fmt.Errorf("%s: cannot remove replication slots: %w", p.name, err)
	}
	return nil
}

// MakeUsers gives the superuser its password, and makes a role for a user of the gateways if there is one. PostgreSQL
// sees verifiers only, so the passwords reach no log of it.
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

// Fork is where a member left a timeline.
type Fork struct {
	Timeline int64 // that was left
	At       LSN
}

// Forks are the points at which the member's present timeline came out of earlier ones.
func (p *Postgres) Forks(ctx context.Context, timeline int64) ([]Fork, error) {
	if timeline <= 1 {
		return nil, nil
	}
	rows, err := p.socket.query(ctx, fmt.Sprintf("select pg_read_file('pg_wal/%08X.history')", timeline))
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%s does not know where its timeline %d began: %w", p.name, timeline, err)
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
		f := strings.Fields(line)
		if len(f) < 2 {
			return nil, fmt.Errorf("the line %q of a timeline history is not understood", line)
		}
		tli, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the line %q of a timeline history is not understood", line)
		}
		at, err := ParseLSN(f[1])
		if err != nil {
			return nil, err
		}
		forks = append(forks, Fork{tli, at})
	}
	return forks, nil
}
