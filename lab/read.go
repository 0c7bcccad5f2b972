package lab

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/topology"
)

// readLimit is how long a member may take until it can be read.
const readLimit = time.Minute

// readRequest names the member that is to be read.
type readRequest struct {
	Member string `json:"member"`
}

// readAnswer is where to read it.
type readAnswer struct {
	URI    string `json:"uri"`
	Behind int64  `json:"behind"`
}

// MemberReading is one way to read what one member alone has, for members that clients cannot reach as they are.
type MemberReading struct {
	URI string // with credentials; writes are refused
	// Behind is how many bytes of the primary's log the member had not applied, although it was given time for it;
	// -1 if that cannot be told.
	Behind int64

	open io.Closer
}

// Close ends the server that was started for the reading.
func (r *MemberReading) Close() error { return r.open.Close() }

// ReadMember starts what is needed to read one member alone. It is kept until the reading is closed or this process
// ends, whatever ends it, or ctx. Members that clients reach at their own address are refused.
func (h *Handle) ReadMember(ctx context.Context, member string) (*MemberReading, error) {
	resp, err := h.send(ctx, http.MethodPost, pathRead, nil, readRequest{member})
	if err != nil {
		return nil, err
	}
	var a readAnswer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		resp.Body.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, gone(h.name)
	}
	return &MemberReading{URI: a.URI, Behind: a.Behind, open: resp.Body}, nil
}

// serveRead starts the reading of a member, says where it is, and ends it when the client hangs up.
func (s *supervisor) serveRead(w http.ResponseWriter, r *http.Request) {
	var req readRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil || req.Member == "" {
		writeAnswer(w, nil, refuse("a member is needed"))
		return
	}
	reading, err := s.read(r.Context(), req.Member)
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	defer reading.Close()
	writeAnswer(w, readAnswer{reading.URI, reading.Behind}, nil)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-r.Context().Done():
	case <-s.ctx.Done():
	}
}

// read starts the reading of a member.
func (s *supervisor) read(ctx context.Context, member string) (topology.Reading, error) {
	cluster := s.inventory.running()
	if cluster == nil {
		return topology.Reading{}, refuse("the lab is not up")
	}
	n, ok := cluster.Node(member)
	reader, can := cluster.(topology.Reader)
	switch {
	case !ok:
		return topology.Reading{}, refuse("there is no member %q", member)
	case !can:
		return topology.Reading{}, refuse("%s answers clients at its own address, %s", member, n.Address())
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return reader.Read(ctx, member)
}
