package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/kubernetes"
	"github.com/plimsoll-bench/plimsoll/fleet/nats"
	"github.com/plimsoll-bench/plimsoll/fleet/ssh"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// tokenVariable has the token of the coordinator for an agent.
const tokenVariable = "PLIMSOLL_AGENT_TOKEN"

// agentFlags say how agents on other machines and the coordinator find each other.
type agentFlags struct {
	listen     string
	server     nats.Server
	kubernetes kubernetesFlags
}

func addAgentFlags(fs *pflag.FlagSet, f *agentFlags) {
	fs.StringVar(&f.listen, "agents-listen", "", "`address` on which this command waits for agents, HOST:PORT (default a free port of loopback; ssh needs no other)")
	fs.StringVar(&f.server.URL, "nats", "", "`URL` of your NATS server, which then carries the messages of agents (default a server in this process)")
	fs.StringVar(&f.server.Creds, "nats-creds", "", "credentials `file` for --nats")
	fs.StringVar(&f.server.CA, "nats-ca", "", "`file` with the certificate authorities for --nats (default those of the system)")
	f.kubernetes.addClusterFlags(fs)
	addPodFlags(fs, &f.kubernetes.Settings)
}

// places finds the places of load clients. dir is the record of a run that can be resumed, "" where there is none.
func (f *agentFlags) places(env *environment, dir string) *agentPlaces {
	return &agentPlaces{flags: f, env: env, record: dir}
}

type agentPlaces struct {
	flags  *agentFlags
	env    *environment
	record string
	resume bool

	mu          sync.Mutex
	coordinator *nats.Coordinator // opened for the first place that needs it
	dir         string            // of the coordinator, below that of this user
	release     func()            // ends the lock of that directory
	open        map[string]fleet.Placer
}

func (p *agentPlaces) find(place string) (fleet.Placer, error) {
	if place == "" {
		return clientPlaces()("")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.open[place]; ok {
		return known, nil
	}
	if p.coordinator == nil {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	var made fleet.Placer
	switch hosts, isSSH := strings.CutPrefix(place, spec.PlaceSSH); {
	case place == spec.PlaceManual:
		made = &manualPlacer{Coordinator: p.coordinator, env: p.env, creds: p.flags.server.Creds != ""}
	case isSSH && p.flags.server.URL != "":
		return nil, errors.New("ssh carries the connections of its agents itself: omit --nats")
	case isSSH:
		made = ssh.New(strings.Split(hosts, ","), p.coordinator, p.dir)
	default:
		cluster, err := kubernetes.Connect(p.flags.kubernetes.kubeconfig, p.flags.kubernetes.namespace)
		if err != nil {
			return nil, err
		}
		made = kubernetes.New(cluster, p.flags.kubernetes.Settings, p.coordinator)
	}
	if p.open == nil {
		p.open = map[string]fleet.Placer{}
	}
	p.open[place] = made
	return made, nil
}

// hold locks the directory of the coordinator. Another one would take over the agents of an unfinished run too.
func (p *agentPlaces) hold() (err error) {
	if p.release != nil {
		return nil
	}
	if p.dir, err = p.directory(); err != nil {
		return err
	}
	p.release, err = record.Hold(p.dir)
	return err
}

// start opens the coordinator.
func (p *agentPlaces) start() (err error) {
	if err := p.hold(); err != nil {
		return err
	}
	o := nats.Options{Dir: p.dir, Server: p.flags.server, Listen: p.flags.listen, Resume: p.resume}
	if o.Server.URL != "" { // its agents stay for the next command, so their token must too
		o.Identity = filepath.Join(filepath.Dir(p.dir), identityFile)
	}
	o.Version, o.Commit = version, tool().Commit
	p.coordinator, err = nats.Open(context.Background(), o)
	return err
}

const (
	// coordinatorsDir is the directory below that of this user with those of coordinators. They have keys, so they are
	// never in a record, which people copy.
	coordinatorsDir = "coordinators"
	// identityFile has the keys of the coordinators of this user that use the user's own NATS server.
	identityFile = "identity.json"
	// idFile is in a record whose run can be resumed. It has the name of the coordinator's directory.
	idFile = "id"
	// keptFor is how long the directory of a run that was not resumed is kept.
	keptFor = 7 * 24 * time.Hour
)

var validID = expression.New(`^run-[0-9a-f]{32}$`)

// directory returns the directory of the coordinator, and removes those of commands that were killed. A record that is
// there names its own, which only --resume may use.
func (p *agentPlaces) directory() (string, error) {
	home, err := homeDir(p.env)
	if err != nil {
		return "", err
	}
	all := filepath.Join(home, coordinatorsDir)
	removeCoordinators(all)
	if p.record == "" {
		dir := filepath.Join(all, strconv.Itoa(os.Getpid()))
		return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
	}
	in := filepath.Join(p.record, fleet.CoordinatorDir)
	if p.resume {
		b, err := safeopen.ReadFile(in, idFile, 100)
		id := strings.TrimSpace(string(b))
		if err == nil && !validID().MatchString(id) {
			err = errors.New("it has no name of a coordinator")
		}
		if err != nil {
			return "", fmt.Errorf("%s cannot be resumed: %w", p.record, err)
		}
		dir := filepath.Join(all, id)
		if _, err := os.Stat(dir); err != nil {
			return "", fmt.Errorf("%s cannot be resumed: the keys of its coordinator are not below %s. Resume it as the user and on the "+
				"machine that started it, within a week: %w", p.record, all, err)
		}
		return dir, nil
	}
	if err := record.Vacant(p.record); err != nil {
		return "", err
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	id := "run-" + hex.EncodeToString(secret)
	dir := filepath.Join(all, id)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(in, 0o700)); err != nil {
		return "", err
	}
	return dir, replace.File(filepath.Join(in, idFile), []byte(id+"\n"), 0o600, false)
}

// removeCoordinators removes the directories of commands that were killed, and of runs that nobody resumed in time.
func removeCoordinators(all string) {
	old, _ := os.ReadDir(all) // there is none yet
	for _, e := range old {
		dir := filepath.Join(all, e.Name())
		pid, err := strconv.Atoi(e.Name())
		switch {
		case err == nil && !procid.Of(pid).Alive():
		case validID().MatchString(e.Name()) && unused(dir):
		default:
			continue
		}
		_ = os.RemoveAll(dir) // the next command tries again
	}
}

// unused reports whether no command has changed a directory for a long time, and none holds it.
func unused(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < keptFor {
		return false
	}
	_, held := record.Holder(dir)
	return !held
}

// close ends the agents and the coordinator.
func (p *agentPlaces) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, placer := range p.open {
		if err := placer.End(); err != nil {
			fmt.Fprintf(p.env.stderr, "plimsoll: %v\n", err)
		}
	}
	if p.release == nil {
		return
	}
	defer p.release()
	if p.coordinator == nil { // an unfinished run may still be resumed
		return
	}
	if p.flags.server.URL == "" { // no other coordinator will have its address and token
		if err := p.coordinator.Dismiss(); err != nil {
			fmt.Fprintf(p.env.stderr, "plimsoll: %v\n", err)
		}
	}
	p.coordinator.Close()
	if err := os.RemoveAll(p.dir); err != nil {
		fmt.Fprintf(p.env.stderr, "plimsoll: cannot remove the directory of the coordinator: %v\n", err)
	}
	if p.record != "" {
		_ = os.Remove(filepath.Join(p.record, fleet.CoordinatorDir, idFile))
		_ = os.Remove(filepath.Join(p.record, fleet.CoordinatorDir)) // something else may be in it
	}
}

// manualPlacer shows a person what to start.
type manualPlacer struct {
	*nats.Coordinator
	env   *environment
	creds bool // agents need credentials of the user's server
	told  sync.Once
}

func (p *manualPlacer) Place(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error) {
	p.told.Do(func() { p.explain(n) })
	return p.Wait(ctx, n, tell)
}

func (p *manualPlacer) explain(n int) {
	connect := tokenVariable + "=" + p.Token() + " plimsoll agent --connect " + p.Connect()
	if p.creds {
		connect += " --creds FILE"
	}
	fmt.Fprintf(p.env.stderr, "plimsoll: start %d agents on the machines that send the load, each with:\n  %s\n", n, connect)
	loopback := []string{"://127.0.0.1:", "://[::1]:", "://localhost:"}
	if slices.ContainsFunc(loopback, func(host string) bool { return strings.Contains(p.Connect(), host) }) {
		fmt.Fprintln(p.env.stderr, "plimsoll: only agents on this machine reach this address; for others, give --agents-listen ADDRESS:PORT")
	}
}

// The agents were started by a person, and end with the coordinator.
func (p *manualPlacer) End() error { return nil }
