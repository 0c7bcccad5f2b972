package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/rest"
	"github.com/plimsoll-bench/plimsoll/store/wire"
)

// DefaultDir is the directory of the documents and records of runs that name none. It is below the working directory,
// so that the disk there is measured.
const DefaultDir = "plimsoll-data"

// defaultTarget is the target of a run that names none.
const defaultTarget = "embedded:" + DefaultDir + "/embedded"

// The clients for MongoDB targets.
const (
	ClientWire   = "wire"
	ClientDriver = "driver"
)

// Target is a parsed target.
type Target struct {
	Kind string // "mongodb", "lab" (until it is found; then "mongodb"), "http", "embedded", "null" or "null-tcp"
	URI  string // mongodb: the connection string, with credentials; http: the address of the service
	Dir  string // embedded: the directory
	Lab  string // lab: its name
}

func (t Target) remote() bool { return t.Kind == "mongodb" || t.Kind == "http" }

// StoresNothing reports whether the target answers and forgets.
func (t Target) StoresNothing() bool { return t.Kind == "null" || t.Kind == "null-tcp" }

// String returns the target without credentials.
func (t Target) String() string {
	if t.Lab != "" {
		return spec.LabTarget(t.Lab)
	}
	switch t.Kind {
	case "embedded":
		return "embedded:" + t.Dir
	case "null":
		return "null:"
	case "null-tcp":
		return "null:tcp"
	}
	return store.Redact(t.URI)
}

// ParseTarget parses mongodb://…, mongodb+srv://…, lab:NAME, http://HOST:PORT/, embedded:DIR, null: or null:tcp. An
// empty string is [defaultTarget].
func ParseTarget(s string) (Target, error) {
	if s == "" {
		s = defaultTarget
	}
	scheme, rest, found := strings.Cut(s, ":")
	switch {
	case strings.HasPrefix(s, "mongodb://"), strings.HasPrefix(s, "mongodb+srv://"):
		return Target{Kind: "mongodb", URI: s}, nil
	// services take no passwords
	case !strings.Contains(s, "@") && (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")):
		return Target{Kind: "http", URI: s}, nil
	case found && scheme == "lab":
		if err := spec.CheckLabName(rest); err != nil {
			return Target{}, fmt.Errorf("target %q: %w. Write lab:NAME; plimsoll lab list shows the labs", store.Redact(s), err)
		}
		return Target{Kind: "lab", Lab: rest}, nil
	case found && scheme == "embedded" && strings.Contains(rest, "://"):
		return Target{}, fmt.Errorf("target %q: embedded: needs a directory, not an address", store.Redact(s))
	case found && scheme == "embedded" && rest != "":
		return Target{Kind: "embedded", Dir: rest}, nil
	case found && scheme == "embedded":
		return Target{}, fmt.Errorf("target %q has no directory. Write embedded:DIR", s)
	case s == "null:" || s == "null":
		return Target{Kind: "null"}, nil
	case s == "null:tcp":
		return Target{Kind: "null-tcp"}, nil
	}
	known := []string{"mongodb://HOST", "mongodb+srv://HOST", "lab:NAME", "http://HOST:PORT/", "embedded:DIR", "null:", "null:tcp"}
	hint := nearest.DidYouMean(scheme, []string{"mongodb", "mongodb+srv", "lab", "http", "embedded", "null"})
	shown := store.Redact(s)
	if !strings.Contains(s, "://") && strings.Contains(s, ":") {
		// An address without its scheme may begin with a user and a password.
		address := store.Redact("mongodb://" + s)
		shown = strings.TrimPrefix(address, "mongodb://")
		if hint == "" {
			hint = ", did you mean " + address + "?"
		}
	}
	return Target{}, fmt.Errorf("unknown target %q%s (known: %s)", shown, hint, strings.Join(known, ", "))
}

// OnEvent receives the events of a client, such as a new primary or a cleared pool.
type OnEvent func(kind, text string, data map[string]string)

// Open opens a target with a client. The caller must close the store. Its errors name the target without credentials.
func (t Target) Open(ctx context.Context, client string, cfg store.Config, events OnEvent) (store.Store, error) {
	if err := permit.Check(ctx, permit.Dial, t.String()); err != nil {
		return nil, err
	}
	switch t.Kind {
	case "embedded":
		return embedded.Open(ctx, t.Dir, cfg)
	case "http":
		cfg.Target = t.URI
		return rest.Open(ctx, cfg, rest.Options{})
	case "null":
		return null.Open(cfg, null.Options{Count: nullDocuments})
	case "null-tcp":
		return openLoopback(ctx, client, cfg, events)
	}
	cfg.Target = t.URI
	for began := time.Now(); ; {
		attempt := time.Now()
		st, err := openMongo(ctx, client, cfg, events)
		answered := time.Since(attempt) < cmp.Or(cfg.Timeout, openWithin)
		if err == nil || answered || ctx.Err() != nil || time.Since(began) >= openWithin {
			return st, err
		}
	}
}

// openWithin is how long opening is tried again while nothing answers within the timeout. That is the timeout of an
// operation, which may be short; nothing is measured yet, and a busy server or a proxy may need longer at first.
const openWithin = 10 * time.Second

// Reach opens the MongoDB of an address with its login and closes it again. The error says which of host, set, user and
// password is wrong, which an error of the official driver hides behind the time that it waited.
func Reach(ctx context.Context, asked spec.Run) error {
	t, err := ParseTarget(asked.Target)
	if err != nil || t.Kind != "mongodb" {
		return err
	}
	config := store.Config{Database: asked.Database, Sessions: 1, Timeout: asked.Load.Timeout.Std()}
	st, err := t.Open(ctx, ClientWire, config, nil)
	if err != nil {
		return err
	}
	return st.Close()
}

// nullDocuments is the count that the null target returns: as many documents as any run needs.
const nullDocuments = math.MaxInt32

func openMongo(ctx context.Context, client string, cfg store.Config, events OnEvent) (store.Store, error) {
	switch client {
	case ClientWire:
		return wire.Open(ctx, cfg)
	case ClientDriver:
		return mongo.Open(ctx, cfg, mongo.Options{OnEvent: events})
	}
	return nil, fmt.Errorf("unknown client %q%s (known: wire, driver)", client,
		nearest.DidYouMean(client, []string{ClientWire, ClientDriver}))
}

// loopback is a store over a responder of this process.
type loopback struct {
	store.Store
	responder *null.Responder
}

func openLoopback(ctx context.Context, client string, cfg store.Config, events OnEvent) (store.Store, error) {
	r, err := null.Listen(null.Options{Count: nullDocuments})
	if err != nil {
		return nil, err
	}
	cfg.Target = r.URI()
	st, err := openMongo(ctx, client, cfg, events)
	if err != nil {
		r.Close()
		return nil, err
	}
	return &loopback{Store: st, responder: r}, nil
}

// Close closes the client, then the responder.
func (l *loopback) Close() error {
	err := l.Store.Close()
	if e := l.responder.Close(); err == nil {
		err = e
	}
	return err
}
