package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
)

// Position is the position of a member in the WAL.
type Position struct {
	Standby bool
	// Timeline of the WAL at LSN.
	Timeline int64
	// LSN is the end of the member's WAL: flushed by a primary, received by a standby.
	LSN LSN
	// Receiving reports whether a standby is connected to a primary.
	Receiving bool
}

// positionQuery reads the position of a member. A standby without a connection to a primary knows the timeline of its
// last checkpoint only.
const positionQuery = `select pg_is_in_recovery(),
	case when pg_is_in_recovery() then greatest(coalesce(pg_last_wal_receive_lsn(), '0/0'), coalesce(pg_last_wal_replay_lsn(), '0/0'))
		else pg_current_wal_flush_lsn() end,
	case when pg_is_in_recovery() then coalesce((select received_tli from pg_stat_wal_receiver where received_tli > 0),
			(select timeline_id from pg_control_checkpoint()))
		else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end,
	coalesce((select sender_host || ':' || sender_port from pg_stat_wal_receiver where status = 'streaming'), '')`

// Position queries the position through the Unix socket, which a cut network does not affect.
func (p *Postgres) Position(ctx context.Context) (Position, error) {
	rows, err := p.socket.poll(ctx, "position", positionQuery)
	if err != nil || len(rows) != 1 {
		return Position{}, errors.Join(fmt.Errorf("cannot read the WAL position of %s", p.name), err)
	}
	r := rows[0]
	at := Position{Standby: r[0] == "t", Receiving: r[3] != ""}
	if at.Timeline, err = strconv.ParseInt(r[2], 10, 64); err != nil {
		return at, err
	}
	at.LSN, err = parseLSN(r[1])
	return at, err
}

// Applied returns the end of the WAL that reads of this member see: flushed by a primary, replayed by a standby.
func (p *Postgres) Applied(ctx context.Context) (LSN, error) {
	rows, err := p.socket.query(ctx, `select case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
		else pg_current_wal_flush_lsn() end`)
	if err != nil || len(rows) != 1 {
		return 0, errors.Join(fmt.Errorf("cannot read the replay position of %s", p.name), err)
	}
	return parseLSN(rows[0][0])
}

// Standby is the state of a standby, from the primary.
type Standby struct {
	Name  string
	State string // "streaming", "catchup", "startup", "backup"
	Sync  string // "quorum", "async", "sync", "potential"
	// LagBytes and LagSeconds are its replication lag, 0 if it has all WAL.
	LagBytes   int64
	LagSeconds float64
}

// Replication returns the standbys that are connected to the primary.
func (p *Postgres) Replication(ctx context.Context) ([]Standby, error) {
	rows, err := p.socket.query(ctx, `select application_name, state, sync_state,
		greatest(0, coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn), 0))::bigint,
		case when flush_lsn >= pg_current_wal_flush_lsn() then 0 else extract(epoch from coalesce(flush_lag, '0')) end
		from pg_stat_replication where application_name <> 'pg_basebackup'`)
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of replication from %s: %w", p.name, err)
	}
	var all []Standby
	for _, r := range rows {
		s := Standby{Name: r[0], State: r[1], Sync: r[2]}
		var errs [2]error
		s.LagBytes, errs[0] = strconv.ParseInt(r[3], 10, 64)
		s.LagSeconds, errs[1] = strconv.ParseFloat(r[4], 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// AwaitedStandbys returns the number of standbys that a commit waits for, 0 for none. Patroni sets it.
func (p *Postgres) AwaitedStandbys(ctx context.Context) (n int, err error) {
	rows, err := p.socket.query(ctx, "show synchronous_standby_names")
	if err != nil || len(rows) != 1 {
		return 0, errors.Join(fmt.Errorf("cannot read how many standbys %s waits for", p.name), err)
	}
	_, _ = fmt.Sscanf(rows[0][0], "ANY %d", &n) // it is empty if it waits for none
	return n, nil
}

// MakeUsers sets the superuser's password, and makes a role for the user of the gateways, which may be empty.
// PostgreSQL gets verifiers instead of passwords, so no log has them.
func (p *Postgres) MakeUsers(ctx context.Context, user, password string) error {
	super, err := verifier(p.o.Password, rand.Text())
	if err != nil {
		return err
	}
	sql := fmt.Sprintf("alter role %s password %s;", postgresUser, literal(super))
	if user != "" {
		if err := CheckAccess(user, password); err != nil {
			return err
		}
		secret, err := verifier(password, rand.Text())
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
