// Package dial opens the connections of all clients of MongoDB. An address may be a name that only a cluster knows:
// then a [Route] says which local address leads there. [Options] makes options of the driver from an address, the same
// in all commands.
package dial

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/plimsoll-bench/plimsoll/internal/arrival"
)

// Route returns the local address that leads to an address; "" if it knows none. An error means that nothing leads
// there now.
type Route func(address string) (local string, err error)

var route atomic.Pointer[Route]

// Use makes all connections ask r. It returns what ends that, after which they ask the route before.
func Use(r Route) (end func()) {
	before := route.Swap(&r)
	return func() { route.CompareAndSwap(&r, before) }
}

// Leads says whether only this process has the way to an address.
func Leads(address string) bool {
	r := route.Load()
	if r == nil {
		return false
	}
	local, err := (*r)(address)
	return local != "" || err != nil
}

// Dialer opens connections. The zero value is ready.
type Dialer struct{ net.Dialer }

// DialContext opens a connection to an address, or to the local one that leads there. Its reads know when their data
// arrived, see [arrival.Conn].
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if r := route.Load(); r != nil {
		local, err := (*r)(address)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		if local != "" {
			address = local
		}
	}
	nc, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return arrival.Wrap(nc), nil
}
