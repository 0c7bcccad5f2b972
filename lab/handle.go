package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Handle speaks with the supervisor of one lab. Its methods may be called from several goroutines.
type Handle struct {
	name, dir string
	client    *http.Client
}

// dialLimit bounds connecting to a socket on this machine; a busy machine takes its time.
const dialLimit = 10 * time.Second

func newHandle(dir string) *Handle {
	h := &Handle{name: filepath.Base(dir), dir: dir}
	h.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialLimit)
			defer cancel()
			return dialIn(ctx, dir)
		},
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
	}}
	return h
}

// Open finds a lab. A lab whose supervisor is gone gives an error that wraps [ErrGone], one that does not exist
// [ErrNoLab].
func Open(ctx context.Context, home, name string) (*Handle, error) {
	var o order
	if err := readJSON(Dir(home, name), orderFile, &o); err != nil {
		if exists(Dir(home, name)) {
			return nil, gone(name)
		}
		return nil, noLab(home, name)
	}
	h := newHandle(Dir(home, name))
	if err := h.get(ctx, pathLab, nil, new(record.Lab)); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

func gone(name string) error {
	return fmt.Errorf("the lab %s does not run: %w; run plimsoll lab down %s to remove what is left", name, ErrGone, name)
}

// Name is the name of the lab.
func (h *Handle) Name() string { return h.name }

// Dir is the directory of the lab.
func (h *Handle) Dir() string { return h.dir }

// Close gives back the connections to the supervisor. The lab goes on.
func (h *Handle) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Describe says how the lab is. deep asks servers and volumes, which takes longer; otherwise only what the supervisor
// knows is told, at once.
func (h *Handle) Describe(ctx context.Context, deep bool) (record.Lab, error) {
	if deep {
		return h.describe(ctx, topology.Settings)
	}
	return h.describe(ctx, topology.Known)
}

// Look says how the lab is, with roles, lag and the health of volumes, and without the settings of its servers. It
// costs them a command or two, so it may be called often while something is measured.
func (h *Handle) Look(ctx context.Context) (record.Lab, error) {
	return h.describe(ctx, topology.Roles)
}

func (h *Handle) describe(ctx context.Context, depth topology.Depth) (record.Lab, error) {
	var l record.Lab
	err := h.get(ctx, pathLab, url.Values{"depth": {strconv.Itoa(int(depth))}}, &l)
	return l, err
}

// Addresses are the URIs for clients, with credentials: the one to use under "", and others by durability where each
// has servers of its own. They belong neither in logs nor in records.
func (h *Handle) Addresses(ctx context.Context) (map[string]string, error) {
	var a map[string]string
	err := h.get(ctx, pathAddresses, nil, &a)
	return a, err
}

// Usage is what each host used up to now.
func (h *Handle) Usage(ctx context.Context) ([]record.LabUsage, error) {
	var u []record.LabUsage
	err := h.get(ctx, pathUsage, nil, &u)
	return u, err
}

// Counters are what the kernel and the disks counted of faults up to now.
func (h *Handle) Counters(ctx context.Context) (action.Counters, error) {
	var c action.Counters
	err := h.get(ctx, pathCounters, nil, &c)
	return c, err
}

// Events returns what happened after the event with a sequence number, 0 for all. If there is nothing yet, it waits for
// at most as long as said, and may return none.
func (h *Handle) Events(ctx context.Context, after int64, wait time.Duration) ([]record.LabEvent, error) {
	var e []record.LabEvent
	q := url.Values{"after": {strconv.FormatInt(after, 10)}, "wait": {min(wait, longPoll).String()}}
	err := h.get(ctx, pathEvents, q, &e)
	return e, err
}

// EventsSince returns what happened after the event with a sequence number, without waiting.
func (h *Handle) EventsSince(ctx context.Context, after int64) ([]record.LabEvent, error) {
	return h.Events(ctx, after, 0)
}

// Fail breaks something and returns when it is broken, with the target that was meant. After the limit the lab heals
// it by itself, 0 being never; for how long it shall last is told and not kept to, and when it is due is known to who
// asks.
func (h *Handle) Fail(ctx context.Context, f spec.Fault, limit time.Duration) (record.LabFault, error) {
	var done record.LabFault
	err := h.post(ctx, pathFail, failRequest{f, limit}, &done)
	return done, err
}

// Heal undoes faults and returns those that it healed.
func (h *Handle) Heal(ctx context.Context, what Healing) ([]record.LabFault, error) {
	var done []record.LabFault
	err := h.post(ctx, pathHeal, what, &done)
	return done, err
}

// Repair makes a volume whole again and says what was done.
func (h *Handle) Repair(ctx context.Context, volume string) (string, error) {
	var a repairAnswer
	err := h.post(ctx, pathRepair, repairRequest{volume}, &a)
	return a.Text, err
}

// Exec runs a program on a host, in its namespace and groups, and copies what it says to out. It returns its exit code;
// with an error it is that of a shell for a program that cannot be started, or 0.
func (h *Handle) Exec(ctx context.Context, r ExecRequest, out io.Writer) (code int, err error) {
	resp, err := h.send(ctx, http.MethodPost, pathExec, nil, r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for frames := json.NewDecoder(resp.Body); ; {
		var f execFrame
		switch err := frames.Decode(&f); {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, fmt.Errorf("the lab %s ended while %s ran", h.name, r.Command[0])
		case f.Error != "":
			return f.Code, errors.New(f.Error)
		case f.Ended:
			return f.Code, nil
		}
		if _, err := out.Write(f.Output); err != nil {
			return 0, err
		}
	}
}

// stop asks the supervisor to end, and returns when it has heard it.
func (h *Handle) stop(ctx context.Context) error {
	return h.post(ctx, pathStop, struct{}{}, &struct{}{})
}

func (h *Handle) get(ctx context.Context, path string, query url.Values, into any) error {
	return h.call(ctx, http.MethodGet, path, query, nil, into)
}

func (h *Handle) post(ctx context.Context, path string, what, into any) error {
	return h.call(ctx, http.MethodPost, path, nil, what, into)
}

func (h *Handle) call(ctx context.Context, method, path string, query url.Values, what, into any) error {
	resp, err := h.send(ctx, method, path, query, what)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return gone(h.name)
	}
	return nil
}

// send sends a request; an answer that is an error becomes one.
func (h *Handle) send(ctx context.Context, method, path string, query url.Values, what any) (*http.Response, error) {
	var body io.Reader
	if what != nil {
		b, err := json.Marshal(what)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://lab"+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	resp, err := h.client.Do(req)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			resp.Body.Close()
		}
		return nil, ctx.Err()
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("the lab %s belongs to another user: %w", h.name, err)
	case err != nil && h.lives():
		return nil, fmt.Errorf("the supervisor of the lab %s runs but does not answer: %w", h.name, err)
	case err != nil:
		return nil, gone(h.name)
	case resp.StatusCode == http.StatusOK:
		return resp, nil
	}
	defer resp.Body.Close()
	var e answerError
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
		return nil, fmt.Errorf("the lab %s answers %s, which this plimsoll does not understand; use the version that made it", h.name, resp.Status)
	}
	return nil, e.err()
}
