package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/server"
)

// PresentStep is the distance of the readings of [ReadPresent]. The busiest operations are those of one step.
const PresentStep = 5 * time.Second

// Present is what clients do with a deployment at present, by the counters of its servers.
type Present struct {
	Began  time.Time
	Period time.Duration
	// Servers were read. Unread were not, with the reason; what clients send to them is missing.
	Servers, Unread []string
	Routed          bool // they are routers
	// Kinds are operations per second by kind: documents for insert, statements for update and delete, commands for the
	// others. Operations of replication are not among them.
	Kinds map[string]float64
	// Busiest is the highest rate of all kinds in a step.
	Busiest float64
	// Reads and Writes are the mean times of commands at the servers, 0 if there were none or it is unknown. Writes
	// include the wait for the write concern.
	Reads, Writes time.Duration
	// Left is what is not counted, in operations per second.
	Left Left
	// Restarted are servers whose operations before a restart during the reading are missing.
	Restarted []string
}

// Left is what servers count and clients did not send, in operations per second. Continuing are getMores of clients,
// which continue an operation that is counted.
type Left struct {
	Replicating, Replicated, Mirrored, Continuing, Commands float64
}

// Rate is the rate of all kinds, in operations per second.
func (p *Present) Rate() (sum float64) {
	for _, kind := range slices.Sorted(maps.Keys(p.Kinds)) { // always the same sum
		sum += p.Kinds[kind]
	}
	return sum
}

// meter is one server whose activity is read.
type meter struct {
	address string
	client  server.Commander
	close   func()
	first   server.Activity
	last    server.Activity
	begun   time.Time
	ended   time.Time
	total   server.Activity // until last
	step    float64         // operations per second in the last step
	err     error

	restarted bool
}

// ReadPresent reads the activity of all servers of a deployment for a period: of the members with data of a set, or of
// the routers of a cluster. It sends only read-only commands to them. Errors may have credentials.
func ReadPresent(ctx context.Context, uri string, period time.Duration) (Present, error) {
	all, routed, err := openMeters(ctx, uri)
	if err != nil {
		return Present{}, err
	}
	defer func() {
		for _, m := range all {
			if m.close != nil {
				m.close()
			}
		}
	}()
	p, err := readPresent(ctx, all, period)
	p.Routed = routed
	return p, err
}

// openMeters connects to the servers that clients use.
func openMeters(ctx context.Context, uri string) (all []*meter, routed bool, err error) {
	address, err := mongouri.Parse(uri)
	if err != nil {
		return nil, false, err
	}
	whole, err := Open(ctx, uri, "admin")
	if err != nil {
		return nil, false, err
	}
	defer whole.Close()
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := server.Driver(whole.client)
	id, err := server.Identify(asking, c)
	if err != nil {
		return nil, false, err
	}
	var hosts []string
	if routed = id.Hello.Router(); routed {
		own, err := server.QueryActivity(asking, c)
		others, err2 := server.QueryRouters(asking, c)
		if err := errors.Join(err, err2); err != nil {
			return nil, true, err
		}
		if address.Scheme != "mongodb+srv" {
			hosts = strings.Split(address.Hosts, ",")
		}
		if len(hosts) == 1 { // the router may have another name for itself
			others = slices.DeleteFunc(others, func(name string) bool { return name == own.Host })
		}
		hosts = append(hosts, others...)
	} else if sets, _, err := server.QuerySets(asking, c, id); err == nil {
		hosts = sets[id.Hello.SetName]
	}
	if len(hosts) == 0 && address.Scheme != "mongodb+srv" {
		hosts = strings.Split(address.Hosts, ",")[:1]
	}
	slices.Sort(hosts)
	var group sync.WaitGroup
	for _, host := range slices.Compact(hosts) {
		m := &meter{address: host}
		all = append(all, m)
		group.Go(func() {
			d, err := Open(ctx, address.Member(host).String(), "admin")
			if m.err = err; err == nil {
				m.client, m.close = server.Driver(d.client), d.Close
			}
		})
	}
	group.Wait()
	return all, routed, nil
}

// readPresent reads meters that are open.
func readPresent(ctx context.Context, all []*meter, period time.Duration) (Present, error) {
	p := Present{Began: time.Now().UTC()}
	each(all, func(m *meter) { m.read(ctx, true) })
	named := map[string]bool{}
	// A router has several names. The caller closes all, so they stay in its list.
	all = slices.DeleteFunc(slices.Clone(all), func(m *meter) bool {
		known := m.err == nil && named[m.first.Host]
		named[m.first.Host] = named[m.first.Host] || m.err == nil
		return known
	})
	for left := period; left > 0; left -= PresentStep {
		if err := wait.Sleep(ctx, min(left, PresentStep)); err != nil {
			return p, err
		}
		each(all, func(m *meter) { m.read(ctx, false) })
		sum := 0.0
		for _, m := range all {
			sum += m.step
		}
		p.Busiest = max(p.Busiest, sum)
	}
	p.Period = time.Since(p.Began)
	return p, p.add(all)
}

func each(all []*meter, do func(*meter)) {
	var group sync.WaitGroup
	for _, m := range all {
		group.Go(func() { do(m) })
	}
	group.Wait()
}

// read reads the server once. A server that does not answer any more has what was read until then.
func (m *meter) read(ctx context.Context, first bool) {
	m.step = 0
	if m.client == nil || !first && m.begun.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, PresentStep)
	defer cancel()
	a, err := server.QueryActivity(ctx, m.client)
	now := time.Now()
	if err != nil {
		m.err = err
		return
	}
	if m.err = nil; first {
		m.first, m.last, m.begun, m.ended = a, a, now, now
		m.total, _ = a.Since(a)
		return
	}
	grown, restarted := a.Since(m.last)
	m.step = grown.Operations() / max(now.Sub(m.ended).Seconds(), 1e-3)
	m.total.Add(grown)
	m.restarted = m.restarted || restarted
	m.last, m.ended = a, now
}

// add adds the servers up. A server that was not read to the end is not among them.
func (p *Present) add(all []*meter) error {
	p.Kinds = map[string]float64{}
	var reads, writes server.Timed
	var errs []error
	var mirrored, received float64
	told := true // every server counts the mirrored reads that it performed
	unknown := false
	for _, m := range all {
		seconds := m.ended.Sub(m.begun).Seconds()
		if m.err != nil || seconds <= 0 {
			errs = append(errs, cmp.Or(m.err, errors.New("it was read only once")))
			p.Unread = append(p.Unread, fmt.Sprintf("%s: %v", m.address, errs[len(errs)-1]))
			continue
		}
		p.Servers = append(p.Servers, m.address)
		if m.restarted {
			p.Restarted = append(p.Restarted, m.address)
		}
		t := m.total
		for kind, n := range t.Counts {
			p.Kinds[kind] += n / seconds
		}
		reads.Count, reads.Micros = reads.Count+t.Reads.Count, reads.Micros+t.Reads.Micros
		writes.Count, writes.Micros = writes.Count+t.Writes.Count, writes.Micros+t.Writes.Micros
		unknown = unknown || t.ReadsUnknown
		mirrored += t.Mirrored / seconds
		received += max(0, t.Received) / seconds
		told = told && t.Received >= 0
		p.Left.Replicating += t.Replicating / seconds
		p.Left.Replicated += t.Replicated / seconds
		p.Left.Continuing += t.Continuing / seconds
		p.Left.Commands += t.Commands / seconds
	}
	if len(p.Servers) == 0 {
		return fmt.Errorf("no server could be read: %w", errors.Join(errs...))
	}
	if p.Left.Mirrored = mirrored; told {
		p.Left.Mirrored = received
	}
	p.Left.Mirrored = min(p.Left.Mirrored, p.Kinds["find"])
	p.Kinds["find"] -= p.Left.Mirrored
	maps.DeleteFunc(p.Kinds, func(_ string, rate float64) bool { return rate == 0 })
	if p.Writes = writes.Mean(); !unknown {
		p.Reads = reads.Mean()
	}
	p.Busiest = max(p.Busiest-p.Left.Mirrored, p.Rate())
	return nil
}
