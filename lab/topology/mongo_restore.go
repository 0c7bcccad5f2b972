package topology

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Restorer is a [Cluster] whose members can be backed up.
type Restorer interface {
	// Restore starts a server on the last backup of a member, and returns when it answers. Close of the reading removes
	// the backup.
	Restore(ctx context.Context, member string) (Reading, error)
}

var _ Restorer = (*mongoCluster)(nil)

// BackupOf is the directory of the last backup of a member. It is beside the data, so the end of the lab removes it.
func BackupOf(n *engine.MongoNode) string { return strings.TrimSuffix(n.DataDir(), "/") + ".backup" }

// The server runs on the host of the member.
func (c *mongoCluster) Restore(ctx context.Context, member string) (Reading, error) {
	m := c.node(member)
	if m == nil {
		return Reading{}, fmt.Errorf("there is no member %s; see 'plimsoll lab status'", member)
	}
	dir := BackupOf(m)
	if _, err := os.Stat(dir); err != nil {
		return Reading{}, fmt.Errorf("there is no backup of %s: %w", member, err)
	}
	n, err := m.Restored(dir)
	if err != nil {
		return Reading{}, err
	}
	end := func() {
		_ = n.Kill()          // it only reads
		_ = os.RemoveAll(dir) // the end of the lab removes it in any case
	}
	if err = n.Start(ctx); err == nil {
		err = n.Wait(ctx)
	}
	if err != nil {
		end()
		return Reading{}, fmt.Errorf("cannot restore the backup of %s: %w", member, err)
	}
	u, err := url.Parse(c.URIs()[""])
	if err != nil {
		end()
		return Reading{}, errors.New("the lab has no address")
	}
	query := u.Query()
	query.Del("replicaSet")
	query.Set("directConnection", "true")
	u.Host, u.RawQuery = n.Address(), query.Encode()
	return Reading{URI: u.String(), Close: end}, nil
}
