package topology

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Reading is one way to read what one member alone has.
type Reading struct {
	URI string // with credentials; writes are refused
	// Behind is how much of the primary's log the member had not applied when the reading began, in bytes; 0 if it had
	// all that there was when it was asked for, and -1 if that cannot be told.
	Behind int64
	// Close ends the reading.
	Close func()
}

// Reader is a [Cluster] whose members clients cannot reach as they are, so that somebody who wants to know what one of
// them has needs a server of its own for that.
type Reader interface {
	// Read starts what is needed to read one member, and returns when it answers. A member that is behind is given
	// time to catch up for as long as it comes nearer.
	Read(ctx context.Context, member string) (Reading, error)
}

var _ Reader = (*documentDB)(nil)

// The limits of a reading.
const (
	readerSessions = 4               // a reader scans, one collection after another
	readerQuiet    = 5 * time.Second // without coming nearer to the primary, after which a standby is read as it is
)

// Read starts a gateway that reads one member only, a standby or the primary. FerretDB needs nothing but a session for
// reading, so a hot standby serves it. It stands on the host of the gateways, where it takes nothing from the members, and
// there is none as long as nobody reads.
func (c *documentDB) Read(ctx context.Context, member string) (Reading, error) {
	m := c.member(member)
	switch {
	case m == nil:
		return Reading{}, fmt.Errorf("there is no member %s that has data", member)
	case !m.node.Status().Running:
		return Reading{}, fmt.Errorf("%s does not run", member)
	}
	behind := c.waitCaughtUp(ctx, m)
	g, err := c.acquireReader(ctx)
	if err != nil {
		return Reading{}, err
	}
	g.SetPrimary(m.node.Upstream())
	if err := g.Start(ctx); err != nil {
		c.releaseReader(g)
		return Reading{}, err
	}
	if err := g.Wait(ctx); err != nil {
		_ = g.Kill()
		c.releaseReader(g)
		return Reading{}, fmt.Errorf("%s cannot be read: %w", member, err)
	}
	return Reading{URI: g.URI(), Behind: behind, Close: func() {
		_ = g.Kill() // it has nothing to lose
		c.releaseReader(g)
	}}, nil
}

// takeReader returns a gateway for reading that nobody uses, a new one if there is none. They are kept because each has
// the promise of a port.
func (c *documentDB) acquireReader(ctx context.Context) (*engine.Gateway, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, errors.New("the lab is being stopped")
	}
	for g, used := range c.readers {
		if !used {
			c.readers[g] = true
			return g, nil
		}
	}
	name := "reader-" + strconv.Itoa(len(c.readers)+1)
	g, err := engine.NewGateway(ctx, engine.GatewayOptions{Home: c.site.Home, Name: name, Host: c.gateways[0].node.Host(),
		Log: filepath.Join(c.site.Dir, "logs", name+".log"), Dir: filepath.Join(c.site.Dir, "gateways", name), Password: c.secrets.Postgres,
		Beside: len(c.gateways), ReadOnly: true, Sessions: readerSessions, User: c.secrets.User, ClientPassword: c.secrets.Client,
		TLSDir: c.tlsDir})
	if err != nil {
		return nil, err
	}
	if c.readers == nil {
		c.readers = map[*engine.Gateway]bool{}
	}
	c.readers[g] = true
	return g, nil
}

// giveReader gives a gateway for reading back.
func (c *documentDB) releaseReader(g *engine.Gateway) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers[g] = false
}

// endReaders ends those that are in use.
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

// awaitApplied waits until a member shows all that the primary has now, and returns how many bytes of log it still
// lacks when it comes no nearer. Positions of members that went different ways cannot be compared.
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
	c.mu.Lock()
	diverged := m.diverged
	c.mu.Unlock()
	if err != nil || diverged {
		return -1
	}
	return waitApplied(ctx, at.LSN, m.node.Applied)
}

// approach asks for a position until it has reached want, and returns how much is missing if it comes no nearer; -1 if
// it was never told.
func waitApplied(ctx context.Context, want engine.LSN, ask func(context.Context) (engine.LSN, error)) int64 {
	missing, moved := int64(-1), time.Now()
	for time.Since(moved) < readerQuiet {
		limit, cancel := context.WithTimeout(ctx, 2*time.Second)
		have, err := ask(limit)
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
		if sleep(ctx, 50*time.Millisecond) != nil {
			break
		}
	}
	return missing
}
