package drill

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// memberReader is a [Lab] that starts what is needed to read a member that clients cannot reach as it is.
type memberReader interface {
	ReadMember(ctx context.Context, member string) (*lab.MemberReading, error)
}

// members opens each member that can be read directly, and notes those that cannot.
func (r *round) members(ctx context.Context) []*source {
	if r.lab == nil {
		r.result.Unread = append(r.result.Unread, "members: the target is no lab, so only its address was read")
		return nil
	}
	l, err := r.lab.Look(ctx)
	if err != nil {
		r.result.Unread = append(r.result.Unread, "members: "+err.Error())
		return nil
	}
	var list []*source
	for _, m := range l.Members {
		if !holdsData(m) {
			continue
		}
		s, why := r.member(ctx, l, m)
		if why != "" {
			r.result.Unread = append(r.result.Unread, m.Name+": "+why)
			continue
		}
		list = append(list, s)
	}
	return list
}

// member opens one member, or says why it cannot be read.
func (r *round) member(ctx context.Context, l record.Lab, m record.LabMember) (s *source, why string) {
	switch {
	case l.Specification.Topology.Kind == spec.LabSharded:
		return nil, "it is a part of a sharded cluster, so it does not have all documents"
	case m.State != "running":
		return nil, "it is " + m.State
	}
	var err error
	if m.Kind == "postgres" {
		s, err = r.throughReader(ctx, m)
	} else {
		s, err = r.atItsAddress(ctx, m)
	}
	if err != nil {
		return nil, store.Redact(store.OneLine(err.Error()))
	}
	return s, ""
}

// atItsAddress opens a member that answers clients itself.
func (r *round) atItsAddress(ctx context.Context, m record.LabMember) (*source, error) {
	uri, err := run.MemberURI(r.uri, m.Address)
	if err != nil {
		return nil, err
	}
	s, err := r.open(ctx, m.Name, uri, true)
	if err == nil && m.LagSeconds != nil && *m.LagSeconds > 0 {
		s.behind = secondsText(*m.LagSeconds) + " behind the primary"
	}
	return s, err
}

// secondsText says how far a member of mongod is behind, which tells whole seconds, and besides whether it has
// everything.
func secondsText(lag float64) string {
	if lag < 1 {
		return "less than a second"
	}
	return fmt.Sprintf("%.0f s", lag)
}

// throughReader opens a member through a server that the lab starts for that. The server is there as long as the source
// is open.
func (r *round) throughReader(ctx context.Context, m record.LabMember) (*source, error) {
	from, ok := r.lab.(memberReader)
	if !ok {
		return nil, errors.New("the lab gives no way to read it directly")
	}
	reading, err := from.ReadMember(ctx, m.Name) // as long as ctx lives; the lab bounds the start
	if err != nil {
		return nil, err
	}
	r.drill.writer.AddSecrets(reading.URI)
	s, err := r.open(ctx, m.Name, reading.URI, true)
	if err != nil {
		_ = reading.Close() // the lab ends it in any case
		return nil, err
	}
	s.lab = reading
	s.behind = behindText(reading.Behind)
	return s, nil
}

// behindText says how much of its primary's log a member had not applied, in bytes; below 0 nobody knows. It is empty
// if it had applied everything: only then is a member that differs one that diverged.
func behindText(n int64) string {
	switch {
	case n < 0:
		return "how much of the primary's log it had not applied is not known"
	case n > 0:
		return figure.Bytes(n) + " of the primary's log were not applied"
	}
	return ""
}
