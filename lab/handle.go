package lab

import (
	"bytes"
	"cmp"
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

// Handle is a client of the supervisor of one lab. Its methods may be called from several goroutines.
type Handle struct {
	name, dir string
	client    *http.Client
}

// dialLimit bounds connecting to the socket, which may take seconds on a busy machine.
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

// Open finds a lab. The error wraps [ErrGone] if the supervisor has ended, and [ErrNoLab] if there is no such lab.
func Open(ctx context.Context, home, name string) (*Handle, error) {
	var o order
	if err := readJSON(Dir(home, name), orderFile, &o); err != nil {
		if exists(Dir(home, name)) {
			return nil, gone(name)
		}
		return nil, noLab(home, name)
	}
	h := newHandle(Dir(home, name))
	if _, err := call[record.Lab](ctx, h, http.MethodGet, pathLab, nil, nil); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

func gone(name string) error {
	return fmt.Errorf("the lab %s is not running: %w. Remove the rest of it: plimsoll lab down %s", name, ErrGone, name)
}

func (h *Handle) Name() string { return h.name }

func (h *Handle) Dir() string { return h.dir }

// Close closes the connections to the supervisor. The lab keeps running.
func (h *Handle) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Describe returns the state of the lab. With deep, the supervisor queries servers and volumes, which takes longer.
// Without it, the supervisor answers at once with what it knows.
func (h *Handle) Describe(ctx context.Context, deep bool) (record.Lab, error) {
	if deep {
		return h.describe(ctx, topology.Settings)
	}
	return h.describe(ctx, topology.Known)
}

// Observe returns the state of the lab with roles, lag and the health of volumes, but without the settings of its
// servers. It costs each server a command or two, so it may be called often during a measurement.
func (h *Handle) Observe(ctx context.Context) (record.Lab, error) {
	return h.describe(ctx, topology.Roles)
}

func (h *Handle) describe(ctx context.Context, depth topology.Depth) (record.Lab, error) {
	return call[record.Lab](ctx, h, http.MethodGet, pathLab, url.Values{"depth": {strconv.Itoa(int(depth))}}, nil)
}

// Addresses are the URIs for clients, with credentials: the default under "", and others by durability level if each
// level has servers of its own. They must not go into logs or records.
func (h *Handle) Addresses(ctx context.Context) (map[string]string, error) {
	return call[map[string]string](ctx, h, http.MethodGet, pathAddresses, nil, nil)
}

// Usage is what each host has used since it was powered on.
func (h *Handle) Usage(ctx context.Context) ([]record.LabUsage, error) {
	return call[[]record.LabUsage](ctx, h, http.MethodGet, pathUsage, nil, nil)
}

// Counters are the counters of the kernel and the disks about faults.
func (h *Handle) Counters(ctx context.Context) (action.Counters, error) {
	return call[action.Counters](ctx, h, http.MethodGet, pathCounters, nil, nil)
}

// Events returns the events after a sequence number, 0 for all. If there are none, it waits for the next one for at
// most the given time, and may return none.
func (h *Handle) Events(ctx context.Context, after int64, wait time.Duration) ([]record.LabEvent, error) {
	return call[[]record.LabEvent](ctx, h, http.MethodGet, pathEvents,
		url.Values{"after": {strconv.FormatInt(after, 10)}, "wait": {min(wait, longPoll).String()}}, nil)
}

// EventsSince returns the events after a sequence number without waiting.
func (h *Handle) EventsSince(ctx context.Context, after int64) ([]record.LabEvent, error) {
	return h.Events(ctx, after, 0)
}

// Fail injects a fault and returns when it is in effect, with the resolved target. The lab heals it after limit; 0 is
// never. The lab only reports f.For, and does not read f.At: both are kept by the caller.
func (h *Handle) Fail(ctx context.Context, f spec.Fault, limit time.Duration) (record.LabFault, error) {
	return call[record.LabFault](ctx, h, http.MethodPost, pathFail, nil, failRequest{f, limit})
}

// Heal heals faults and returns those that it healed.
func (h *Handle) Heal(ctx context.Context, what Healing) ([]record.LabFault, error) {
	return call[[]record.LabFault](ctx, h, http.MethodPost, pathHeal, nil, what)
}

// Repair rebuilds a volume and returns a text about what was done.
func (h *Handle) Repair(ctx context.Context, volume string) (string, error) {
	a, err := call[repairAnswer](ctx, h, http.MethodPost, pathRepair, nil, repairRequest{volume})
	return a.Text, err
}

// Exec runs a program on a host, in its namespace and groups, and copies its output to out. It returns the exit code of
// the program. With an error, the code is that of a shell for a program that cannot be started, or 0.
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

// stop requests the supervisor to end, and returns when the request has arrived.
func (h *Handle) stop(ctx context.Context) error {
	_, err := call[struct{}](ctx, h, http.MethodPost, pathStop, nil, struct{}{})
	return err
}

// call sends a request and decodes the answer.
func call[T any](ctx context.Context, h *Handle, method, path string, query url.Values,
	what any) (answer T, err error) {
	resp, err := h.send(ctx, method, path, query, what)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&answer) != nil {
		return answer, cmp.Or(ctx.Err(), gone(h.name))
	}
	return answer, nil
}

// send sends a request. An answer with an error becomes a Go error.
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
		return nil, fmt.Errorf("this version of plimsoll does not understand the answer of the lab %s (%s). "+
			"Use the version that created the lab", h.name, resp.Status)
	}
	return nil, e.err()
}
