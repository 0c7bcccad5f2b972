package topology

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Reading is a read-only connection to the data of one member.
type Reading struct {
	URI string // with credentials; writes are refused
	// Behind is the replication lag in bytes of WAL when the reading began, compared with the primary's position when it
	// was requested; -1 if unknown.
	Behind int64
	// Close ends the reading.
	Close func()
}

// Reader is a [Cluster] whose members clients cannot read directly.
type Reader interface {
	// Read starts a read-only server for one member, and returns when it answers. It waits as long as the member's
	// replication lag keeps shrinking.
	Read(ctx context.Context, member string) (Reading, error)
}

var _ Reader = (*documentDB)(nil)

// The limits of a reading.
const (
	readerSessions = 4               // a reader scans one collection after another
	readerQuiet    = 5 * time.Second // without progress, after which a standby is read as it is
)

// Read starts a read-only gateway for one member. FerretDB needs only a read session, so a hot standby can serve it.
// The gateway runs on the host of the gateways, so it uses no resources of the members.
func (c *documentDB) Read(ctx context.Context, member string) (Reading, error) {
	m := c.member(member)
	switch {
	case m == nil:
		return Reading{}, fmt.Errorf("there is no member %s with data; see 'plimsoll lab status'", member)
	case !m.node.Status().Running:
		return Reading{}, fmt.Errorf("%s does not run; start it with 'plimsoll lab revert'", member)
	}
	behind := c.waitCaughtUp(ctx, m)
	g, err := c.acquireReader(ctx)
	if err != nil {
		return Reading{}, err
	}
	g.SetMembers(m.node.Upstream())
	if err := g.Start(ctx); err != nil {
		c.releaseReader(g)
		return Reading{}, err
	}
	if err := g.Wait(ctx); err != nil {
		_ = g.Kill()
		c.releaseReader(g)
		return Reading{}, fmt.Errorf("cannot read %s: %w", member, err)
	}
	return Reading{URI: g.URI(), Behind: behind, Close: func() {
		_ = g.Kill() // it has no state
		c.releaseReader(g)
	}}, nil
}

// acquireReader returns an unused read-only gateway, or a new one. Gateways are kept because each has reserved a port.
func (c *documentDB) acquireReader(ctx context.Context) (*engine.Gateway, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, errStopping
	}
	for g, used := range c.readers {
		if !used {
			c.readers[g] = true
			return g, nil
		}
	}
	name := "reader-" + strconv.Itoa(len(c.readers)+1)
	g, err := engine.NewGateway(ctx, engine.GatewayOptions{Home: c.site.Home, Name: name,
		Host: c.gateways[0].node.Host(), Log: filepath.Join(c.site.Dir, "logs", name+".log"),
		Dir: filepath.Join(c.site.Dir, "gateways", name), Password: c.secrets.Postgres, Beside: len(c.gateways),
		ReadOnly: true, Sessions: readerSessions, User: c.secrets.User, ClientPassword: c.secrets.Client, TLSDir: c.tlsDir})
	if err != nil {
		return nil, err
	}
	if c.readers == nil {
		c.readers = map[*engine.Gateway]bool{}
	}
	c.readers[g] = true
	return g, nil
}

func (c *documentDB) releaseReader(g *engine.Gateway) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers[g] = false
}

// endReaders kills all read-only gateways.
func (c *documentDB) endReaders() {
	c.mu.Lock()
	var all []*engine.Gateway
	for g := range c.readers {
		all = append(all, g)
	}
	c.mu.Unlock()
	for _, g := range all {
		_ = g.Kill()
	}
}

// waitCaughtUp waits until a member has replayed all WAL that the primary has now. If the lag stops shrinking, it
// returns the lag in bytes.
func (c *documentDB) waitCaughtUp(ctx context.Context, m *pgMember) int64 {
	leader := c.leader()
	if leader == nil {
		return -1
	}
	if m == leader {
		return 0
	}
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	at, err := leader.node.Position(limit)
	cancel()
	if err != nil {
		return -1
	}
	return waitApplied(ctx, at.LSN, m.node.Applied)
}

// waitApplied polls a position until it has reached want. It returns the missing bytes when there is no more progress;
// -1 if no query succeeded.
func waitApplied(ctx context.Context, want engine.LSN, query func(context.Context) (engine.LSN, error)) int64 {
	missing, moved := int64(-1), time.Now()
	for time.Since(moved) < readerQuiet {
		limit, cancel := context.WithTimeout(ctx, 2*time.Second)
		have, err := query(limit)
		cancel()
		if err == nil {
			left := max(0, int64(want)-int64(have))
			if left == 0 {
				return 0
			}
			if missing < 0 || left < missing {
				missing, moved = left, time.Now()
			}
		}
		if wait.Sleep(ctx, 50*time.Millisecond) != nil {
			break
		}
	}
	return missing
}
