package lab

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/topology"
)

// readLimit bounds the start of a read-only gateway, with the wait for replication.
const readLimit = time.Minute

type readRequest struct {
	Member string `json:"member"`
	// Backup reads the last backup of the member instead, and removes it after that.
	Backup bool `json:"backup,omitempty"`
}

type readAnswer struct {
	URI    string `json:"uri"`
	Behind int64  `json:"behind"`
}

// MemberReading is a read-only gateway to one member that clients cannot reach directly.
type MemberReading struct {
	URI string // with credentials; writes are refused
	// Behind is the replication lag after waiting for it to shrink, in bytes of the primary's log; -1 if it is not known.
	Behind int64

	open io.Closer
}

// Close ends the gateway.
func (r *MemberReading) Close() error { return r.open.Close() }

// ReadMember starts a read-only gateway to one member. It runs until the reading is closed, this process ends, however
// it ends, or ctx ends. ReadMember refuses members that clients reach at their own address.
func (h *Handle) ReadMember(ctx context.Context, member string) (*MemberReading, error) {
	return h.read(ctx, readRequest{Member: member})
}

// ReadBackup restores the last backup of a member to a separate server, which runs as long as that of
// [Handle.ReadMember]. After that the backup is removed.
func (h *Handle) ReadBackup(ctx context.Context, member string) (*MemberReading, error) {
	return h.read(ctx, readRequest{Member: member, Backup: true})
}

func (h *Handle) read(ctx context.Context, req readRequest) (*MemberReading, error) {
	resp, err := h.send(ctx, http.MethodPost, pathRead, nil, req)
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

// serveRead starts a read-only gateway, returns its address, and ends it when the client closes the connection.
func (s *supervisor) serveRead(w http.ResponseWriter, r *http.Request) {
	var req readRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil || req.Member == "" {
		writeAnswer(w, nil, refuse("the request names no member"))
		return
	}
	reading, err := s.read(r.Context(), req)
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

func (s *supervisor) read(ctx context.Context, req readRequest) (topology.Reading, error) {
	member := req.Member
	cluster := s.inventory.running()
	if cluster == nil {
		return topology.Reading{}, refuse("the lab is not up")
	}
	n, ok := cluster.Node(member)
	reader, can := cluster.(topology.Reader)
	restorer, backups := cluster.(topology.Restorer)
	switch {
	case !ok:
		return topology.Reading{}, refuse("there is no member %q", member)
	case req.Backup && !backups:
		return topology.Reading{}, refuse("%s has no backups", member)
	case req.Backup:
		ctx, cancel := context.WithTimeout(ctx, readLimit)
		defer cancel()
		return restorer.Restore(ctx, member)
	case !can:
		return topology.Reading{}, refuse("clients reach %s at its own address, %s", member, n.Address())
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return reader.Read(ctx, member)
}
