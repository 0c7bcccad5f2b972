package engine

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Files in a member's directory.
const (
	settingsFile = "postgresql.conf"
	accessFile   = "pg_hba.conf"
	passFile     = "pgpass" // the password of a standby for its primary, from Patroni
	lostDir      = "lost"   // WAL that was rolled back
)

// settingsQuery reads the settings with an effect on durability and speed.
const settingsQuery = `select name, current_setting(name) from pg_settings where name in ('fsync','full_page_writes',
	'wal_sync_method','wal_level','wal_compression','shared_buffers','max_connections','max_wal_size','checkpoint_timeout',
	'data_checksums','synchronous_commit','synchronous_standby_names','commit_delay','wal_writer_delay','server_version') order by name`

// clusterSettings returns the settings that all members share. The settings of durability (fsync, full_page_writes,
// wal_sync_method) keep PostgreSQL's defaults. By default commits wait only for the local disk, which applies to
// background workers; gateways set synchronous_commit.
func (p *Postgres) clusterSettings() map[string]string {
	set := preloaded()
	maps.Copy(set, map[string]string{
		// The gateways' sessions, and some for the extension's workers, Patroni, the supervisor and psql. A standby must not
		// have less of these three than the template that it is a copy of, which has PostgreSQL's defaults.
		"max_connections":       strconv.Itoa(max(100, p.o.Sessions+40)),
		"wal_level":             "replica",
		"max_wal_senders":       strconv.Itoa(max(10, p.o.Members+4)),
		"max_replication_slots": strconv.Itoa(max(10, p.o.Members+4)),
		"synchronous_commit":    "local",
		// A standby reconnects soon to its primary.
		"wal_retrieve_retry_interval": "200ms",
		// WAL for standbys that are down is kept up to a limit, so that the disk does not fill up; beyond it they are cloned.
		"wal_keep_size":          "256MB",
		"max_slot_wal_keep_size": "1GB",
	})
	maps.Copy(set, p.o.Parameters)
	return set
}

// hostSettings returns the settings of this member on its host, besides its address.
func (p *Postgres) hostSettings() map[string]string {
	set := map[string]string{}
	if cache := p.cache(); cache > 0 && p.o.Parameters["shared_buffers"] == "" {
		set["shared_buffers"] = strconv.FormatInt(cache>>10, 10) + "kB"
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

// accessRules are the lines of pg_hba.conf. Connections through the Unix socket need no password: only root and
// PostgreSQL's user can enter its directory.
func (p *Postgres) accessRules() []string {
	rules := []string{"local all all trust", "local replication all trust"}
	for _, ip := range p.o.Allow {
		for _, database := range []string{"all", "replication"} { // "all" does not include replication
			rules = append(rules, "host "+database+" "+postgresUser+" "+ip+"/32 scram-sha-256")
		}
	}
	return rules
}

// writeFiles writes the settings of Patroni, or those and the access rules of a single member.
func (p *Postgres) writeFiles() error {
	if p.o.Patroni != nil {
		return p.writePatroni()
	}
	if err := p.writeFile(accessFile, strings.Join(p.accessRules(), "\n")+"\n"); err != nil {
		return err
	}
	ip, port := p.endpoint()
	set := p.clusterSettings()
	maps.Copy(set, p.hostSettings())
	maps.Copy(set, map[string]string{"listen_addresses": ip, "port": strconv.Itoa(port), "cluster_name": p.name,
		"hba_file": dataMount + "/" + accessFile})
	var b strings.Builder
	b.WriteString("# plimsoll writes this file at every start.\n")
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, "%s = %s\n", name, literal(set[name]))
	}
	return p.writeFile(settingsFile, b.String())
}

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

// Upstream is the address of a PostgreSQL for its clients.
type Upstream struct {
	Host string // IP address
	Port int
}

func (p *Postgres) Upstream() Upstream {
	ip, port := p.endpoint()
	return Upstream{ip, port}
}
