package engine

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgClient has one session with a PostgreSQL and reopens it when it is lost.
type pgClient struct {
	dial     func(ctx context.Context) (net.Conn, error)
	password string
	name     string // application_name

	mu       sync.Mutex
	conn     *pgconn.PgConn
	prepared map[string]bool // names of the statements of conn
}

// query runs statements and returns the rows of the last one as text; null is empty. Its commits do not wait for
// standbys, so that the supervisor never hangs with the cluster.
func (c *pgClient) query(ctx context.Context, sql string) ([][]string, error) {
	return c.run(ctx, func(conn *pgconn.PgConn) ([]*pgconn.Result, error) { return conn.Exec(ctx, sql).ReadAll() })
}

// poll runs one statement as [pgClient.query] does. PostgreSQL plans it once in a session, which takes longer than to
// run it. The name is that of this statement alone.
func (c *pgClient) poll(ctx context.Context, name, sql string) ([][]string, error) {
	return c.run(ctx, func(conn *pgconn.PgConn) ([]*pgconn.Result, error) {
		if !c.prepared[name] {
			if _, err := conn.Prepare(ctx, name, sql, nil); err != nil {
				return nil, err
			}
			c.prepared[name] = true
		}
		result := conn.ExecPrepared(ctx, name, nil, nil, nil).Read()
		return []*pgconn.Result{result}, result.Err
	})
}

// run uses the session. If it had been lost some time ago, run opens another and tries again.
func (c *pgClient) run(ctx context.Context, use func(*pgconn.PgConn) ([]*pgconn.Result, error)) ([][]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.conn != nil
	rows, err := c.try(ctx, use)
	if err != nil && kept && c.conn == nil && ctx.Err() == nil {
		return c.try(ctx, use)
	}
	return rows, err
}

func (c *pgClient) try(ctx context.Context, use func(*pgconn.PgConn) ([]*pgconn.Result, error)) ([][]string, error) {
	if c.conn == nil {
		conn, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		c.conn, c.prepared = conn, map[string]bool{}
	}
	results, err := use(c.conn)
	if c.conn.IsClosed() {
		c.conn = nil
	}
	if err != nil || len(results) == 0 {
		return nil, err
	}
	var rows [][]string
	for _, r := range results[len(results)-1].Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (c *pgClient) connect(ctx context.Context) (*pgconn.PgConn, error) {
	// Explicit options override this process's environment. DialFunc ignores the address.
	cfg, err := pgconn.ParseConfig("host=127.0.0.1 port=1 user=" + postgresUser + " password=" + c.password +
		" dbname=postgres sslmode=disable target_session_attrs=any connect_timeout=0")
	if err != nil {
		return nil, err
	}
	cfg.Fallbacks = nil
	cfg.RuntimeParams = map[string]string{"application_name": c.name, "synchronous_commit": "local", "client_min_messages": "warning"}
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) }
	return pgconn.ConnectConfig(ctx, cfg)
}

// close ends the session unless a query runs.
func (c *pgClient) close() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if c.conn != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // do not wait for an answer
		_ = c.conn.Close(ctx)
		c.conn = nil
	}
}

// dialSocket connects to the Unix socket of PostgreSQL in a directory. The kernel limits the length of the path, so
// dialSocket uses the descriptor of the directory.
func dialSocket(ctx context.Context, dir string, port int) (net.Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	name := filepath.Join("/proc/self/fd", strconv.Itoa(int(d.Fd())), ".s.PGSQL."+strconv.Itoa(port))
	return (&net.Dialer{}).DialContext(ctx, "unix", name)
}

// literal quotes a text for SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// LSN is a position in PostgreSQL's write-ahead log (WAL), in bytes since its beginning.
type LSN uint64

// String returns PostgreSQL's form: 0/1A2B3C4D.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint64(l)>>32, uint32(l)) }

// parseLSN reads PostgreSQL's form.
func parseLSN(s string) (LSN, error) {
	high, low, ok := strings.Cut(strings.TrimSpace(s), "/")
	h, errH := strconv.ParseUint(high, 16, 32)
	l, errL := strconv.ParseUint(low, 16, 32)
	if !ok || errH != nil || errL != nil {
		return 0, fmt.Errorf("%q is not a position in the WAL", s)
	}
	return LSN(h<<32 | l), nil
}
