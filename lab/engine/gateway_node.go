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
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// GatewayOptions describe one gateway of a cluster of documentdb.
type GatewayOptions struct {
	Home string // where engines are installed
	Name string
	Host host.Host
	Log  string // its log file
	Dir  string // of its state, made if it does not exist
	// Password is that of PostgreSQL's superuser.
	Password string
	// Commit is the synchronous_commit of its sessions: what a write has to reach before it is acknowledged.
	Commit string
	// Sessions is how many it may open.
	Sessions int
	// Beside is how many gateways share its host and so its memory, itself included.
	Beside int
	// ReadOnly makes it one for reading: it takes a standby too, and refuses all writes.
	ReadOnly bool
	// User and ClientPassword are what clients have to give; no user lets everybody in who reaches the address.
	User, ClientPassword string
	// TLSDir has the certificates that [WriteCertificates] made; clients then have to speak TLS. Empty: they must not.
	TLSDir string
}

// Gateway is a FerretDB in front of one PostgreSQL, the primary. It knows no other member: a former primary that comes
// back gets no writes through it, whatever it takes itself for. When another member is promoted the gateway is started
// again with the new address, which also ends sessions that hang in a connection to a member that was cut off.
type Gateway struct {
	placed
	o GatewayOptions

	primary Upstream // under placed.mu
}

var _ Node = (*Gateway)(nil)

// NewGateway describes a gateway. Nothing is made before its start.
func NewGateway(ctx context.Context, o GatewayOptions) (*Gateway, error) {
	inst, err := findInstalled(ctx, o.Home)
	if err != nil {
		return nil, err
	}
	access := StartOptions{User: o.User, Password: o.ClientPassword}
	if err := checkAccess(&access); err != nil {
		return nil, err
	}
	g := &Gateway{placed: placed{name: o.Name, kind: "gateway", log: o.Log, inst: inst}, o: o}
	return g, g.settle(o.Host)
}

// DataDir is empty: a gateway keeps no data.
func (g *Gateway) DataDir() string { return "" }

// SetPrimary says which PostgreSQL it uses from the next start on.
func (g *Gateway) SetPrimary(u Upstream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.primary = u
}

// Primary is the PostgreSQL it uses from the next start on.
func (g *Gateway) Primary() Upstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.primary
}

// URI is where clients connect, with credentials.
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

// Start starts it for the primary that was said.
func (g *Gateway) Start(ctx context.Context) error {
	u := g.Primary()
	if u == (Upstream{}) {
		return fmt.Errorf("%s: there is no primary to be a gateway for", g.name)
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
	address := net.JoinHostPort(u.Host, strconv.Itoa(u.Port))
	target := gatewayURL(address, g.o.Password, g.o.Commit, g.o.Sessions, 2)
	if g.o.ReadOnly {
		target = readerURL(address, g.o.Password, g.o.Sessions)
	}
	s.Env = append(s.Env, gatewayEnv(target)...)
	s.Also = append(s.Also, g.Host().Limits().ForGo(g.o.Beside)...)
	return g.launch(ctx, s)
}

// listenArgs say where it listens. It sees its own directory only, so the certificate of its host is copied there.
func (g *Gateway) listenArgs() ([]string, error) {
	if g.o.TLSDir == "" {
		return []string{"--listen-addr=" + g.Address()}, nil
	}
	text, err := os.ReadFile(hostCertificate(g.o.TLSDir, g.Host().Name()))
	if err != nil {
		return nil, fmt.Errorf("%s has no certificate: %w", g.name, err)
	}
	file := filepath.Join(g.o.Dir, certificateFile)
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.Chown(file, int(g.inst.uid), int(g.inst.gid))); err != nil {
		return nil, fmt.Errorf("%s cannot have its certificate: %w", g.name, err)
	}
	at := dataMount + "/" + certificateFile // the certificate and its key
	return []string{"--listen-addr=", "--listen-tls=" + g.Address(), "--listen-tls-cert-file=" + at, "--listen-tls-key-file=" + at}, nil
}

// gatewayURL is how a gateway's sessions connect to PostgreSQL. What it does not know it passes on as a setting of the
// session.
func gatewayURL(address, password, commit string, most, least int) string {
	query := url.Values{
		"synchronous_commit":   {commit},
		"pool_max_conns":       {strconv.Itoa(most)},
		"pool_min_conns":       {strconv.Itoa(min(least, most))},
		"connect_timeout":      {"2"}, // without it clients hang while PostgreSQL is away
		"target_session_attrs": {"read-write"},
		"sslmode":              {"disable"},
	}
	return postgresURL(address, password, query)
}

// readerURL is how a gateway that only reads connects to a PostgreSQL, whatever that is: a primary refuses its writes
// as a standby does.
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
	u := url.URL{Scheme: "postgres", User: url.UserPassword(postgresUser, password), Host: address, Path: "/postgres", RawQuery: query.Encode()}
	return u.String()
}

// gatewayEnv gives the URL to the gateway. It holds the password, so it goes in the environment, which only its own
// user can read, and not among the arguments, which everybody can.
func gatewayEnv(url string) []string {
	return []string{"FERRETDB_POSTGRESQL_URL=" + url, "DO_NOT_TRACK=1"}
}

// Wait waits until it answers a read, for which it needs the primary.
func (g *Gateway) Wait(ctx context.Context) error {
	if err := waitListening(ctx, "mongodb://"+g.Address(), g.Ended()); err != nil {
		return g.answerError(err)
	}
	client, err := connect(g.URI())
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		last := client.Database(probeDatabase).RunCommand(try, bson.D{{Key: "find", Value: "probe"}, {Key: "limit", Value: 1}}).Err()
		cancel()
		if last == nil {
			return nil
		}
		if err := pause(ctx, g.Ended(), last); err != nil {
			return g.answerError(err)
		}
	}
}

// Prove waits until a write is acknowledged at its level, and read again.
func (g *Gateway) Prove(ctx context.Context) error {
	if err := waitUsable(ctx, g.URI(), g.Ended()); err != nil {
		return g.answerError(err)
	}
	return nil
}

// Stop ends it. It would wait for its clients, and it has nothing to lose, so it gets a second for what is under way.
func (g *Gateway) Stop(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := g.end(limit, syscall.SIGTERM); err != nil && ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// Settings are what its sessions ask PostgreSQL for.
func (g *Gateway) Settings(context.Context) (map[string]string, error) {
	if !g.Status().Running {
		return nil, fmt.Errorf("%s does not run", g.name)
	}
	u := g.Primary()
	return map[string]string{"synchronous_commit": g.o.Commit, "pool_max_conns": strconv.Itoa(g.o.Sessions),
		"primary": net.JoinHostPort(u.Host, strconv.Itoa(u.Port))}, nil
}
