package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Patroni runs next to each PostgreSQL of a set, starts it, and decides its role by a lease in etcd.
//
// Both run in one sandbox, so they end together. A shell is its first process, because a sandbox ends with that one:
// it lets PostgreSQL run on when Patroni is killed, as on a machine.

// PatroniOptions are those of a cluster that Patroni manages. They are the same for all members.
type PatroniOptions struct {
	// Scope is the name of the cluster in etcd.
	Scope string
	// Settings are the cluster's settings in etcd, such as ttl and loop_wait.
	Settings map[string]any
	// Etcd are the addresses of the members of etcd, as host:port.
	Etcd []string
}

const patroniFile = "/usr/bin/patroni"

// heldFile keeps PostgreSQL from starting while it exists, in the shared memory of a member's sandbox.
const heldFile = "/dev/shm/plimsoll-held"

// Files in a member's directory that Patroni and its programs use.
const (
	patroniSettings = "patroni.json"
	clonedFile      = "cloned" // all data were copied from another member
	guardedPostgres = "postgres.sh"
	guardedRewind   = "pg_rewind.sh"
	guardedBackup   = "pg_basebackup.sh"
)

// Retransmissions is how often the kernel of an isolated host of a set repeats data that nobody acknowledges: about 13
// s (net.ipv4.tcp_retries2; RFC 1122, section 4.2.3.5). With the kernel's default of 15, which is 15 minutes, a Patroni
// that asks a host which is cut off meanwhile waits for it, and takes no part in the next election.
const Retransmissions = 5

// patroniInit runs Patroni as PostgreSQL's user and waits until both have ended. SIGTERM ends both in order, SIGUSR1
// kills Patroni and ends PostgreSQL in order, SIGUSR2 starts a Patroni that was killed.
const patroniInit = `mount -t proc proc /proc || exit 1
%[3]s
start() {
	setpriv --reuid=%[1]d --regid=%[2]d --clear-groups ` + patroniFile + ` ` + dataMount + "/" + patroniSettings + ` &
	patroni=$!
}
postgres() { kill "-$1" "$(head -n 1 ` + dataMount + "/" + postgresDir + `/postmaster.pid)"; } 2>/dev/null
trap 'kill -TERM $patroni 2>/dev/null || postgres INT' TERM
trap 'kill -KILL $patroni 2>/dev/null; postgres INT' USR1
trap start USR2
start
while kill -0 $patroni 2>/dev/null || postgres 0; do
	if kill -0 $patroni 2>/dev/null; then wait $patroni; status=$?; else sleep 0.05; fi
done
exit $status
`

// The programs that Patroni runs instead of PostgreSQL's.
const (
	// A killed member stays down until it is started: Patroni restarts a dead PostgreSQL.
	postgresScript = `#!/bin/sh
case "$1" in -D | --single)
	if [ -e ` + heldFile + ` ]; then
		echo "plimsoll: a fault keeps PostgreSQL down" >&2
		exit 1
	fi
esac
exec ` + pgBin + `/postgres "$@"
`
	// pg_rewind erases the WAL that only this member has, so the script copies it. A dry run says where the members
	// diverged.
	rewindScript = `#!/bin/sh
said=$(` + pgBin + `/pg_rewind --dry-run "$@" 2>&1)
at=$(echo "$said" | sed -n 's|.*diverged at WAL location \([0-9A-F]*\)/\([0-9A-F]*\) on timeline \([0-9]*\).*|\3 \1 \2|p')
if [ -n "$at" ]; then
	fork() {
		kept=` + dataMount + "/" + lostDir + `/$(date -u +%Y%m%dT%H%M%S)-timeline-$1
		first=$(printf '%08X%08X%08X' "$1" "0x$2" $((0x$3 >> 24)))
		mkdir -p "$kept" || exit 1
		for segment in ` + dataMount + "/" + postgresDir + `/pg_wal/$(printf '%08X' "$1")????????????????; do
			if [ ! "${segment##*/}" \< "$first" ]; then cp "$segment" "$kept" || exit 1; fi
		done
		echo "$1 $2/$3" >"$kept/` + forkFile + `"
	}
	fork $at
fi
exec ` + pgBin + `/pg_rewind "$@"
`
	backupScript = `#!/bin/sh
touch ` + dataMount + "/" + clonedFile + `
exec ` + pgBin + `/pg_basebackup "$@"
`
)

// patroniProgram describes Patroni with its PostgreSQL. The first process of the sandbox is root's, because it mounts
// the list of the sandbox's processes.
func (p *Postgres) patroniProgram() process.Spec {
	kernel := ""
	if p.Host().Mode() == host.Isolated { // a plain host has the settings of this machine
		kernel = fmt.Sprintf("echo %d > /proc/sys/net/ipv4/tcp_retries2 || exit 1", Retransmissions)
	}
	s := p.inst.program(p.DataDir(), p.name, "/bin/sh", "-c", fmt.Sprintf(patroniInit, p.inst.uid, p.inst.gid, kernel))
	s.Sandbox.UID, s.Sandbox.GID = 0, 0
	return s
}

// writePatroni writes Patroni's settings for this member on its host, and the programs that it runs.
func (p *Postgres) writePatroni() error {
	ip, port := p.endpoint()
	address := net.JoinHostPort(ip, strconv.Itoa(port))
	user := map[string]any{"username": postgresUser, "password": p.o.Password}
	at := func(name string) string { return dataMount + "/" + name }
	text, err := json.MarshalIndent(map[string]any{
		"scope":   p.o.Patroni.Scope,
		"name":    p.name,
		"restapi": map[string]any{"listen": p.restAddress(), "connect_address": p.restAddress(), "authentication": user},
		"etcd3":   map[string]any{"hosts": p.o.Patroni.Etcd},
		// The machine's watchdog would reset the machine.
		"watchdog": map[string]any{"mode": "off"},
		"postgresql": map[string]any{
			"listen": address, "connect_address": address,
			"data_dir": at(postgresDir), "bin_dir": pgBin, "pgpass": at(passFile),
			"bin_name": map[string]any{"postgres": at(guardedPostgres), "pg_rewind": at(guardedRewind),
				"pg_basebackup": at(guardedBackup)},
			"authentication":  map[string]any{"superuser": user, "replication": user, "rewind": user},
			"use_unix_socket": true, "use_unix_socket_repl": true,
			"parameters": p.hostSettings(), "pg_hba": p.accessRules(),
			"basebackup": []any{map[string]any{"checkpoint": "fast"}},
			// A member that cannot be rewound copies all data from the primary.
			"remove_data_directory_on_rewind_failure":     true,
			"remove_data_directory_on_diverged_timelines": true,
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := p.writeFile(patroniSettings, string(text)); err != nil {
		return err
	}
	for name, script := range map[string]string{guardedPostgres: postgresScript, guardedRewind: rewindScript,
		guardedBackup: backupScript} {
		if err := p.writeFile(name, script); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(p.DataDir(), name), 0o500); err != nil {
			return err
		}
	}
	return nil
}

// ClusterSettings are the settings of a new cluster in etcd: those of its options, and PostgreSQL's parameters, some of
// which Patroni reads from there alone.
func (p *Postgres) ClusterSettings() map[string]any {
	all := map[string]any{"postgresql": map[string]any{"use_pg_rewind": true, "use_slots": true,
		"parameters": p.clusterSettings()}}
	maps.Copy(all, p.o.Patroni.Settings)
	return all
}

// SystemID returns the identity of the member's data, which all members of a cluster share.
func (p *Postgres) SystemID(ctx context.Context) (string, error) {
	out, err := p.Host().Run(ctx, p.inst.program(p.DataDir(), "pg_controldata", pgBin+"/pg_controldata",
		"-D", dataMount+"/"+postgresDir))
	for line := range strings.Lines(string(out)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == "Database system identifier" {
			return strings.TrimSpace(value), nil
		}
	}
	return "", errors.Join(fmt.Errorf("cannot read the control file of %s%s", p.name, tailOf(out)), err)
}

// restAddress is the address of Patroni's REST API.
func (p *Postgres) restAddress() string {
	ip, _ := p.endpoint()
	p.mu.Lock()
	defer p.mu.Unlock()
	return net.JoinHostPort(ip, strconv.Itoa(p.rest))
}

// SwitchOver makes Patroni hand over from this member, the primary, to another one.
func (p *Postgres) SwitchOver(ctx context.Context) error {
	return p.request(ctx, http.MethodPost, "/switchover", map[string]any{"leader": p.name})
}

// Configure changes settings of the cluster in etcd.
func (p *Postgres) Configure(ctx context.Context, settings map[string]any) error {
	return p.request(ctx, http.MethodPatch, "/config", settings)
}

// request sends a request to this member's Patroni.
func (p *Postgres) request(ctx context.Context, method, path string, body any) error {
	user := url.UserPassword(postgresUser, p.o.Password)
	if _, err := requestJSON(ctx, method, "http://"+p.restAddress()+path, user, body); err != nil {
		return fmt.Errorf("the Patroni of %s: %w", p.name, err)
	}
	return nil
}

// requestJSON sends a request of Patroni's or etcd's HTTP interface and returns the answer.
func requestJSON(ctx context.Context, method, address string, user *url.Userinfo, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if password, ok := user.Password(); ok {
		r.SetBasicAuth(user.Username(), password)
	}
	answer, err := noProxy.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s (HTTP %d)", bytes.TrimSpace(text), answer.StatusCode)
	}
	return text, err
}

// noProxy is a client for servers of the lab, without the proxy of the environment and without kept connections.
var noProxy = &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
	DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext}}

// postmaster returns the id of PostgreSQL's first process, 0 if it does not run.
func (p *Postgres) postmaster() int {
	first := p.process()
	if first == nil || !first.Running() {
		return 0
	}
	if p.o.Patroni == nil {
		return first.PID
	}
	return postmasterBelow(first.PID)
}

// postmasterBelow returns the id of PostgreSQL's first process in a sandbox with Patroni, 0 if there is none. Patroni
// starts PostgreSQL with a process of Python that ends then, so that the first process of the sandbox becomes the
// parent. On a busy machine, PostgreSQL answers long before that. A PostgreSQL whose parent is Patroni itself is
// another: it shows a setting or recovers data. The guarded program becomes PostgreSQL in the next moment.
func postmasterBelow(first int) int {
	parents := []int{first}
	for i := 0; i < len(parents); i++ {
		children, _ := process.Children(parents[i])
		for _, pid := range children {
			switch name := nameOf(pid); {
			case (name == "postgres" || name == guardedPostgres) && nameOf(parents[i]) != filepath.Base(patroniFile):
				return pid
			case name == filepath.Base(patroniFile) || strings.HasPrefix(name, "python"):
				parents = append(parents, pid)
			}
		}
	}
	return 0
}

// nameOf returns the name of a process, empty if it has ended.
func nameOf(pid int) string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name))
}

// PatroniBeside returns the id of the Patroni of a PostgreSQL whose first process is given, 0 if it does not run. Both
// have the same parent.
func PatroniBeside(postmaster int) int {
	fields, err := procid.Stat(postmaster)
	if err != nil {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return patroniBelow(parent)
}

// patroniBelow returns the id of the Patroni in the sandbox of a first process, 0 if it does not run.
func patroniBelow(first int) int {
	children, _ := process.Children(first)
	for _, pid := range children {
		if nameOf(pid) == filepath.Base(patroniFile) {
			return pid
		}
	}
	return 0
}

// KillPatroni kills the member's Patroni. PostgreSQL runs on.
func (p *Postgres) KillPatroni() error {
	if p.postmaster() != 0 {
		if pid := patroniBelow(p.process().PID); pid != 0 {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("%s: its PostgreSQL or its Patroni does not run", p.name)
}

// StartPatroni starts the member's Patroni again, next to its running PostgreSQL, and returns when it answers.
func (p *Postgres) StartPatroni(ctx context.Context) error {
	first := p.process()
	if !p.Status().Running {
		return fmt.Errorf("%s does not run", p.name)
	}
	first.Signal(syscall.SIGUSR2)
	return p.untilAnswers(ctx, func(ctx context.Context) error {
		return p.request(ctx, http.MethodGet, "/liveness", nil)
	})
}

// killTimeout bounds the end of a PostgreSQL that was killed. Its processes may wait for a disk or a processor.
const killTimeout = time.Minute

// KillServer kills PostgreSQL with all its processes, and keeps it down until the next start. Its Patroni runs on.
func (p *Postgres) KillServer() error {
	if p.o.Patroni == nil || !p.Status().Running {
		return p.Kill()
	}
	// The shared memory of the sandbox ends with it, and does not need the disk, which may have a fault.
	held := "/proc/" + strconv.Itoa(p.process().PID) + "/root" + heldFile
	if err := os.WriteFile(held, nil, 0o644); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.mu.Lock()
	p.held = true
	ended := p.ended
	p.mu.Unlock()
	end := time.Now().Add(killTimeout)
	for pid := p.postmaster(); pid != 0; pid = p.postmaster() {
		if time.Now().After(end) {
			return fmt.Errorf("%s: PostgreSQL (PID %d) was killed, but has not ended within %v", p.name, pid, killTimeout)
		}
		process.KillTree(pid)
		time.Sleep(time.Millisecond)
	}
	p.closeEnded(ended)
	return nil
}

// release ends the Patroni of a member whose PostgreSQL was killed, so that the next start begins with a new one.
func (p *Postgres) release() error {
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if !held {
		return nil
	}
	return p.Kill()
}

// StopAlone ends PostgreSQL with a "fast" shutdown without a role for Patroni, which is killed first. It is for a
// cluster of which all members end.
func (p *Postgres) StopAlone(ctx context.Context) error {
	if p.o.Patroni == nil {
		return p.Stop(ctx)
	}
	return errors.Join(p.end(ctx, syscall.SIGUSR1), p.afterEnd())
}
