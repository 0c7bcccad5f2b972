package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// GatewayOptions describe one gateway of a cluster of documentdb.
type GatewayOptions struct {
	Home string // directory of engines
	Name string
	Host host.Host
	Port int    // 0: the host chooses
	Log  string // file
	Dir  string // of its state, made if it does not exist
	// Password of PostgreSQL's superuser.
	Password string
	// Commit is the synchronous_commit of its sessions, which decides when a write is acknowledged.
	Commit string
	// Sessions limits its sessions.
	Sessions int
	// Beside is the number of gateways that share its host's memory, itself included.
	Beside int
	// ReadOnly makes it refuse writes and accept a standby.
	ReadOnly bool
	// User and ClientPassword are the credentials of clients; without a user there is no access control.
	User, ClientPassword string
	// TLSDir has the certificates of [WriteCertificates], for TLS only. Empty: no TLS.
	TLSDir string
}

// Gateway is a FerretDB in front of the members of a set, as an application's connection pool would be: it has the
// addresses of all members, and uses the one that accepts writes. A read-only gateway is in front of one member.
type Gateway struct {
	placed
	o GatewayOptions

	members []Upstream // under placed.mu
}

var _ Node = (*Gateway)(nil)

// NewGateway makes a gateway that does not run yet.
func NewGateway(ctx context.Context, o GatewayOptions) (*Gateway, error) {
	inst, err := findInstalled(ctx, o.Home)
	if err != nil {
		return nil, err
	}
	if err := CheckAccess(o.User, o.ClientPassword); err != nil {
		return nil, err
	}
	g := &Gateway{placed: placed{name: o.Name, kind: "gateway", log: o.Log, inst: inst, fixed: o.Port}, o: o}
	return g, g.assignHost(o.Host)
}

func (g *Gateway) DataDir() string { return "" }

// SetMembers sets the PostgreSQL servers of the next start.
func (g *Gateway) SetMembers(all ...Upstream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = all
}

// Members returns the PostgreSQL servers of the next start.
func (g *Gateway) Members() []Upstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members
}

// addresses returns the addresses of its servers, separated by commas.
func (g *Gateway) addresses() string {
	var all []string
	for _, u := range g.Members() {
		all = append(all, net.JoinHostPort(u.Host, strconv.Itoa(u.Port)))
	}
	return strings.Join(all, ",")
}

// URI returns the address for clients, with credentials.
func (g *Gateway) URI() string {
	u := url.URL{Scheme: "mongodb", Host: g.Address(), Path: "/"}
	if g.o.User != "" {
		u.User = url.UserPassword(g.o.User, g.o.ClientPassword)
	}
	if g.o.TLSDir != "" {
		u.RawQuery = "tls=true&tlsCAFile=" + escapeOption(CAFile(g.o.TLSDir))
	}
	return u.String()
}

func (g *Gateway) Start(ctx context.Context) error {
	g.starting.Lock()
	defer g.starting.Unlock()
	address := g.addresses()
	if address == "" {
		return fmt.Errorf("cannot start %s: it has no members", g.name)
	}
	if err := os.MkdirAll(g.o.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Chown(g.o.Dir, int(g.inst.uid), int(g.inst.gid)); err != nil {
		return err
	}
	listen, err := g.listenArgs()
	if err != nil {
		return err
	}
	s := g.inst.program(g.o.Dir, g.name, gatewayFile, append(listen, "--auth="+strconv.FormatBool(g.o.User != ""),
		"--telemetry=disable", "--state-dir="+dataMount, "--debug-addr=-", "--log-level=WARN")...)
	target := gatewayURL(address, g.o.Password, g.o.Commit, g.o.Sessions, 2)
	if g.o.ReadOnly {
		target = readerURL(address, g.o.Password, g.o.Sessions)
	}
	s.Env = append(s.Env, gatewayEnv(target)...)
	s.Also = append(s.Also, g.Host().Limits().ForGo(g.o.Beside)...)
	return g.launch(ctx, s)
}

// listenArgs returns its arguments for addresses. It copies the certificate to its own directory, because it can read
// no other.
func (g *Gateway) listenArgs() ([]string, error) {
	if g.o.TLSDir == "" {
		return []string{"--listen-addr=" + g.Address()}, nil
	}
	text, err := os.ReadFile(hostCertificate(g.o.TLSDir, g.Host().Name()))
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate of %s: %w", g.name, err)
	}
	file := filepath.Join(g.o.Dir, certificateFile)
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.Chown(file, int(g.inst.uid), int(g.inst.gid))); err != nil {
		return nil, fmt.Errorf("cannot copy the certificate of %s: %w", g.name, err)
	}
	at := dataMount + "/" + certificateFile // the certificate and its key
	return []string{"--listen-addr=", "--listen-tls=" + g.Address(), "--listen-tls-cert-file=" + at,
		"--listen-tls-key-file=" + at}, nil
}

// gatewayURL returns the address of PostgreSQL for a gateway. The gateway passes options that it does not know to its
// sessions as settings.
func gatewayURL(address, password, commit string, most, least int) string {
	query := url.Values{
		"synchronous_commit":   {commit},
		"pool_max_conns":       {strconv.Itoa(most)},
		"pool_min_conns":       {strconv.Itoa(min(least, most))},
		"connect_timeout":      {"2"}, // without it clients hang while PostgreSQL does not answer
		"target_session_attrs": {"read-write"},
		"sslmode":              {"disable"},
	}
	return postgresURL(address, password, query)
}

// readerURL returns the address of a PostgreSQL for a read-only gateway. A primary refuses its writes as a standby
// does.
func readerURL(address, password string, most int) string {
	return postgresURL(address, password, url.Values{
		"default_transaction_read_only": {"on"},
		"pool_max_conns":                {strconv.Itoa(most)},
		"pool_min_conns":                {"1"},
		"connect_timeout":               {"2"},
		"target_session_attrs":          {"any"},
		"sslmode":                       {"disable"},
	})
}

func postgresURL(address, password string, query url.Values) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(postgresUser, password), Host: address, Path: "/postgres",
		RawQuery: query.Encode()}
	return u.String()
}

// gatewayEnv passes the URL to the gateway in its environment. The URL has the password, and arguments can be read by
// all users.
func gatewayEnv(url string) []string {
	return []string{"FERRETDB_POSTGRESQL_URL=" + url, "DO_NOT_TRACK=1"}
}

// Wait waits until it answers a read, which needs the primary.
func (g *Gateway) Wait(ctx context.Context) error { return g.Reads(ctx, 5*time.Second) }

// Reads tries a read until one succeeds. An attempt has a time limit, because a pooled connection to a dead member
// hangs; the next attempt gets another connection.
func (g *Gateway) Reads(ctx context.Context, attempt time.Duration) error {
	if err := waitListening(ctx, "mongodb://"+g.Address(), g.Ended()); err != nil {
		return g.answerError(err)
	}
	client, err := connect(g.URI())
	if err != nil {
		return err
	}
	defer disconnect(client)
	return g.untilAnswers(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attempt)
		defer cancel()
		find := bson.D{{Key: "find", Value: "probe"}, {Key: "limit", Value: 1}}
		return client.Database(probeDatabase).RunCommand(ctx, find).Err()
	})
}

// Prove waits until a write is acknowledged at its level and readable.
func (g *Gateway) Prove(ctx context.Context) error {
	if err := waitUsable(ctx, g.URI(), g.Ended()); err != nil {
		return g.answerError(err)
	}
	return nil
}

// Stop ends it. A gateway waits for its clients but has no data to lose, so it gets one second for operations in
// progress.
func (g *Gateway) Stop(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := g.end(limit, syscall.SIGTERM); err != nil && ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// Settings returns the settings of its sessions.
func (g *Gateway) Settings(context.Context) (map[string]string, error) {
	if !g.Status().Running {
		return nil, fmt.Errorf("%s does not run", g.name)
	}
	return map[string]string{"synchronous_commit": g.o.Commit, "pool_max_conns": strconv.Itoa(g.o.Sessions),
		"members": g.addresses()}, nil
}
