package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Workload is the only workload that can be sent to a service.
const Workload = "person"

// collection is where that workload keeps its documents.
const collection = "person"

// defaultTimeout bounds what is asked once where the configuration does not.
const defaultTimeout = 10 * time.Second

// largestAnswer is how much of an answer is read, in bytes.
const largestAnswer = 64 << 20

// Check says whether a service can be asked for a workload with a concern.
func Check(name string, c store.Concern) error {
	switch {
	case name != Workload:
		return fmt.Errorf("workload.name: a REST service keeps persons, so only the workload person can be sent to it, not %s; load MongoDB itself for that", name)
	case c != (store.Concern{}):
		return errors.New("durability: the service decides how safe a write is and where it reads, so nothing of that can be asked of it; " +
			"say it in the address that the service has of MongoDB")
	}
	return nil
}

// Store is a REST service.
type Store struct {
	base    *url.URL
	bearer  string // the Authorization header, "" for none
	timeout time.Duration
	client  *http.Client // for what is asked once
}

// Options are those of a service.
type Options struct {
	// Token is sent with every request; the service that plimsoll starts demands one.
	Token string
}

// Open finds out whether a service is at the address.
func Open(ctx context.Context, cfg store.Config, o Options) (*Store, error) {
	u, err := url.Parse(cfg.Target)
	switch {
	case err != nil:
		return nil, store.WrongAddress(cfg.Target, "it cannot be read: write http://HOST:PORT/")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, store.WrongAddress(cfg.Target, "write http://HOST:PORT/")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, store.WrongAddress(cfg.Target, "it has more than a host and a path: write http://HOST:PORT/, without a user, a password or parameters")
	}
	if err := Check(Workload, cfg.Concern); err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	s := &Store{base: u, timeout: cfg.Timeout, client: newClient()}
	if o.Token != "" {
		s.bearer = "Bearer " + o.Token
	}
	if _, err := s.health(ctx); err != nil {
		s.client.CloseIdleConnections()
		return nil, err
	}
	return s, nil
}

// newClient makes a client with one connection that is kept. What a server says about going elsewhere is not followed:
// it would be timed as part of the answer.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:        (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
			MaxConnsPerHost:    1,
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Session implements [store.Store]. Each session has a connection of its own, as a virtual user has.
func (s *Store) Session(int) (store.Session, error) {
	return &session{store: s, client: newClient()}, nil
}

// health asks the service how it is. A service that is there and does not reach MongoDB is an error too.
func (s *Store) health(ctx context.Context) (map[string]string, error) {
	var h map[string]string
	status, err := s.ask(ctx, "/healthz", &h)
	shown := store.Redact(s.base.String())
	switch {
	case err != nil:
		return nil, fmt.Errorf("no service answers at %s: %w; start it (go run ./examples/failover/service) or check the address", shown, err)
	case status == http.StatusOK && h["service"] == "persons":
		return h, nil
	case h["status"] == "down":
		return nil, fmt.Errorf("the service at %s does not reach its MongoDB: %s", shown, store.OneLine(h["error"]))
	}
	return nil, fmt.Errorf("what answers at %s is no service for persons (status %d at /healthz); docs/failover.md says what one answers", shown, status)
}

// ask gets a path and reads the answer into v, as far as it is JSON.
func (s *Store) ask(ctx context.Context, path string, v any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := s.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, errors.Unwrap(err) // without the address, which whoever reads it knows
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
	if err != nil {
		return 0, err
	}
	if json.Unmarshal(text, v) != nil && answer.StatusCode == http.StatusOK {
		return 0, errors.New("its answer is no JSON")
	}
	return answer.StatusCode, nil
}

// request makes a request that the service takes.
func (s *Store) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base.String()+path, body)
	if err == nil && s.bearer != "" {
		r.Header.Set("Authorization", s.bearer)
	}
	return r, err
}

// Info implements [store.Store].
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	h, err := s.health(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return store.Info{Kind: "REST service", Topology: "service", Hosts: []string{s.base.Host},
		Settings: map[string]string{"client": "rest", "service": h["service"], "service database": h["database"]},
		Notes:    []string{"what MongoDB the service has, and how safe its writes are, is not known here"}}, nil
}

// EnsureIndexes implements [store.Store]: a service has what indexes it has.
func (s *Store) EnsureIndexes(_ context.Context, indexes []workload.Index) error {
	if len(indexes) > 0 {
		return fmt.Errorf("the index %s cannot be made through a REST service", indexes[0].Name)
	}
	return nil
}

// Count implements [store.Store].
func (s *Store) Count(ctx context.Context, name string) (int64, error) {
	if name != collection {
		return 0, fmt.Errorf("the collection %s cannot be counted through a REST service: it keeps persons", name)
	}
	var n struct {
		Count *int64 `json:"count"`
		Error string `json:"error"`
	}
	status, err := s.ask(ctx, "/persons/count", &n)
	switch {
	case err != nil:
		return 0, fmt.Errorf("count the persons of %s: %w", s.base, err)
	case status != http.StatusOK || n.Count == nil:
		return 0, fmt.Errorf("count the persons of %s: status %d: %s", s.base, status, store.OneLine(n.Error))
	}
	return *n.Count, nil
}

// Drop implements [store.Store]: it fails, because no service should let anybody do that.
func (s *Store) Drop(context.Context, string) error {
	return fmt.Errorf("%s is a REST service and cannot be asked to drop what it keeps: drop the collection person in its MongoDB, or load without --load drop", s.base)
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
