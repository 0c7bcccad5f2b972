package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Files in a member's directory.
const (
	settingsFile = "postgresql.conf"
	accessFile   = "pg_hba.conf"
	passFile     = "pgpass" // the password of a standby for its primary
	lostDir      = "lost"   // WAL that was rolled back
)

// settingsQuery reads the settings with an effect on durability and speed.
const settingsQuery = `select name, current_setting(name) from pg_settings where name in ('fsync','full_page_writes',
	'wal_sync_method','wal_level','wal_compression','shared_buffers','max_connections','max_wal_size','checkpoint_timeout',
	'data_checksums','synchronous_commit','synchronous_standby_names','commit_delay','wal_writer_delay','server_version') order by name`

// settings returns the settings of this member on its host. The settings of durability (fsync, full_page_writes,
// wal_sync_method) keep PostgreSQL's defaults. By default commits wait only for the local disk, which applies to
// background workers; gateways set synchronous_commit.
func (p *Postgres) settings() map[string]string {
	ip, port := p.endpoint()
	members := len(p.o.Members)
	set := preloaded()
	maps.Copy(set, map[string]string{
		"listen_addresses": ip,
		"port":             strconv.Itoa(port),
		"hba_file":         dataMount + "/" + accessFile,
		"cluster_name":     p.name,
		// The gateways' sessions, and some for the extension's workers, the supervisor and psql. A standby must not have
		// less of these three than the template that it is a copy of, which has PostgreSQL's defaults.
		"max_connections":       strconv.Itoa(max(100, p.o.Sessions+36)),
		"wal_level":             "replica",
		"max_wal_senders":       strconv.Itoa(max(10, members+4)),
		"max_replication_slots": strconv.Itoa(max(10, members+4)),
		"synchronous_commit":    "local",
		// A standby reconnects soon to its primary.
		"wal_retrieve_retry_interval": "200ms",
		// WAL for standbys that are down is kept up to a limit, so that the disk does not fill up; beyond it they are cloned.
		"wal_keep_size":          "256MB",
		"max_slot_wal_keep_size": "1GB",
	})
	if p.o.Receive > 0 {
		set["wal_receiver_timeout"] = strconv.FormatInt(p.o.Receive.Milliseconds(), 10) + "ms"
		set["wal_sender_timeout"] = set["wal_receiver_timeout"]
	}
	if cache := p.cache(); cache > 0 {
		set["shared_buffers"] = strconv.FormatInt(cache>>10, 10) + "kB"
	}
	maps.Copy(set, p.o.Parameters)
	p.mu.Lock()
	defer p.mu.Unlock()
	set["synchronous_standby_names"] = p.sync
	if p.readOnly {
		set["default_transaction_read_only"] = "on"
	}
	if p.upstream != "" {
		set["primary_conninfo"] = p.upstream
		set["primary_slot_name"] = slotName(p.name)
	}
	return set
}

// cache returns shared_buffers in bytes, 0 for PostgreSQL's default.
func (p *Postgres) cache() int64 {
	if p.o.Cache > 0 {
		return p.o.Cache
	}
	return p.Host().Limits().Memory / 4 // recommended by PostgreSQL's manual
}

// slotName returns the replication slot of a member: letters, digits and underscores.
func slotName(member string) string { return strings.ReplaceAll(member, "-", "_") }

// writeFiles writes the settings, the access rules and the password for other members. The password is in a separate
// file for PostgreSQL's user only, because PostgreSQL logs changed settings.
func (p *Postgres) writeFiles() error {
	var b strings.Builder
	b.WriteString("# plimsoll writes this file at every start.\n")
	set := p.settings()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, "%s = %s\n", name, literal(set[name]))
	}
	// Connections through the Unix socket need no password: only root and PostgreSQL's user can enter its directory.
	rules := "local all all trust\n"
	for _, ip := range p.o.Allow {
		for _, database := range []string{"all", "replication"} { // "all" does not include replication
			rules += "host " + database + " " + postgresUser + " " + ip + "/32 scram-sha-256\n"
		}
	}
	return errors.Join(p.writeFile(passFile, "*:*:*:*:"+passEscaper.Replace(p.o.Password)+"\n"),
		p.writeFile(settingsFile, b.String()), p.writeFile(accessFile, rules))
}

// passEscaper writes a password as libpq reads it from a file.
var passEscaper = strings.NewReplacer(`\`, `\\`, `:`, `\:`)

// writeFile replaces a file of PostgreSQL's user atomically.
func (p *Postgres) writeFile(name, text string) error {
	path := filepath.Join(p.DataDir(), name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.Chown(path+".new", int(p.inst.uid), int(p.inst.gid)); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Reload applies the current settings to the running server.
func (p *Postgres) Reload(ctx context.Context) error {
	if err := p.writeFiles(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if _, err := p.socket.query(ctx, "select pg_reload_conf()"); err != nil {
		return fmt.Errorf("%s: cannot reload the settings: %w", p.name, err)
	}
	return nil
}

// Upstream is the address of a primary for its standbys.
type Upstream struct {
	Host string // IP address
	Port int
}

func (p *Postgres) Upstream() Upstream {
	ip, port := p.endpoint()
	return Upstream{ip, port}
}

// conninfo returns the connection string of this member for its primary. PostgreSQL logs it, so it has the file of the
// password instead of the password.
func (p *Postgres) conninfo(u Upstream) string {
	return fmt.Sprintf("host=%s port=%d user=%s passfile=%s dbname=postgres application_name=%s connect_timeout=2 sslmode=disable",
		u.Host, u.Port, postgresUser, dataMount+"/"+passFile, p.name)
}

// signalFile makes PostgreSQL start as a standby while it exists.
func (p *Postgres) signalFile() string { return filepath.Join(p.postgresDir(), "standby.signal") }

// Follow makes the member a standby of a primary: immediately if it runs as a standby, else at its next start. With the
// zero Upstream it is a standby without a primary.
func (p *Postgres) Follow(ctx context.Context, u Upstream) error {
	if err := p.Retire(); err != nil {
		return err
	}
	p.mu.Lock()
	p.upstream = ""
	if u != (Upstream{}) {
		p.upstream = p.conninfo(u)
	}
	p.mu.Unlock()
	if !p.Status().Running {
		return nil
	}
	return p.Reload(ctx)
}

// Retire makes the member start as a standby until [Postgres.Lead] is called. It does not change a running server.
func (p *Postgres) Retire() error {
	err := os.WriteFile(p.signalFile(), nil, 0o600)
	if err == nil {
		err = os.Chown(p.signalFile(), int(p.inst.uid), int(p.inst.gid))
	}
	if err == nil {
		err = syncDir(p.postgresDir())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// Lead makes the member start as a primary.
func (p *Postgres) Lead() error {
	if p.Status().Running {
		return fmt.Errorf("%s runs, so it must be promoted instead", p.name)
	}
	p.mu.Lock()
	p.upstream, p.readOnly = "", false
	p.mu.Unlock()
	if err := os.Remove(p.signalFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return syncDir(p.postgresDir())
}

// SetReadOnly makes the primary refuse new transactions with writes, or accept them again.
func (p *Postgres) SetReadOnly(ctx context.Context, on bool) error {
	p.mu.Lock()
	p.readOnly = on
	p.mu.Unlock()
	if !p.Status().Running {
		return nil
	}
	return p.Reload(ctx)
}

// Promote makes a standby the primary and returns when it accepts writes.
func (p *Postgres) Promote(ctx context.Context) error {
	p.mu.Lock()
	p.readOnly = false
	p.mu.Unlock()
	limit := 60
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(1, int(time.Until(deadline).Seconds()))
	}
	rows, err := p.socket.query(ctx, "select pg_promote(true, "+strconv.Itoa(limit)+")")
	if err == nil && (len(rows) == 0 || rows[0][0] != "t") {
		err = errors.New("PostgreSQL did not leave recovery in time")
	}
	if err != nil {
		return fmt.Errorf("cannot promote %s: %w", p.name, err)
	}
	p.mu.Lock()
	p.upstream = ""
	p.mu.Unlock()
	return p.Reload(ctx)
}
