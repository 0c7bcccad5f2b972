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

// Workload is the only workload that a service supports.
const Workload = "person"

// collection is that of the workload.
const collection = "person"

// defaultTimeout is for a configuration without a timeout.
const defaultTimeout = 10 * time.Second

// largestAnswer is the largest reply in bytes.
const largestAnswer = 64 << 20

// Check returns an error for a workload or concern that a service does not support.
func Check(name string, c store.Concern) error {
	switch {
	case name != Workload:
		return fmt.Errorf("workload.name: a REST service supports only the workload person, not %s; "+
			"load MongoDB directly for that", name)
	case c != (store.Concern{}):
		return errors.New("durability: the service decides the durability of writes and where it reads, so a run cannot set them; " +
			"set them in the service's address of MongoDB")
	}
	return nil
}

// Store is a REST service.
type Store struct {
	base    *url.URL
	bearer  string // the Authorization header, "" for none
	timeout time.Duration
	client  *http.Client // for all requests but those of sessions
}

// Options of a service.
type Options struct {
	// Token is sent with every request. The service that plimsoll starts requires one.
	Token string
}

// Open checks that there is a service at the address.
func Open(ctx context.Context, cfg store.Config, o Options) (*Store, error) {
	u, err := url.Parse(cfg.Target)
	switch {
	case err != nil:
		return nil, store.WrongAddress(cfg.Target, "it cannot be parsed: write http://HOST:PORT/")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, store.WrongAddress(cfg.Target, "write http://HOST:PORT/")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, store.WrongAddress(cfg.Target,
			"it has more than a host and a path: write http://HOST:PORT/, without a user, a password or parameters")
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

// newClient makes a client with one persistent connection. It does not follow redirects, which would be timed as a part
// of the reply.
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

// Each session has its own connection, like a virtual user.
func (s *Store) Session(int) (store.Session, error) {
	return &session{store: s, client: newClient()}, nil
}

// health queries the health of the service. It fails if the service does not reach MongoDB.
func (s *Store) health(ctx context.Context) (map[string]string, error) {
	var h map[string]string
	status, err := s.get(ctx, "/healthz", &h)
	shown := store.Redact(s.base.String())
	switch {
	case err != nil:
		return nil, fmt.Errorf("no service answers at %s: %w; start it (go run ./examples/failover/service) "+
			"or check the address", shown, err)
	case status == http.StatusOK && h["service"] == "persons":
		return h, nil
	case h["status"] == "down":
		return nil, fmt.Errorf("the service at %s does not reach its MongoDB: %s", shown, store.OneLine(h["error"]))
	}
	return nil, fmt.Errorf("the server at %s is not a service for persons (status %d of /healthz); "+
		"docs/failover.md describes its API", shown, status)
}

// get requests a path and decodes a JSON reply into v.
func (s *Store) get(ctx context.Context, path string, v any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := s.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, errors.Unwrap(err) // without the address, which callers name
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
	if err != nil {
		return 0, err
	}
	if json.Unmarshal(text, v) != nil && answer.StatusCode == http.StatusOK {
		return 0, errors.New("its reply is not JSON")
	}
	return answer.StatusCode, nil
}

// request makes a request with the token.
func (s *Store) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base.String()+path, body)
	if err == nil && s.bearer != "" {
		r.Header.Set("Authorization", s.bearer)
	}
	return r, err
}

func (s *Store) Info(ctx context.Context) (store.Info, error) {
	h, err := s.health(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return store.Info{Kind: "REST service", Topology: "service", Hosts: []string{s.base.Host},
		Settings: map[string]string{"client": "rest", "service": h["service"], "service database": h["database"]},
		Notes:    []string{"the MongoDB of the service and the durability of its writes are not known"}}, nil
}

// A service cannot create indexes.
func (s *Store) EnsureIndexes(_ context.Context, indexes []workload.Index) error {
	if len(indexes) > 0 {
		return fmt.Errorf("cannot create the index %s through a REST service", indexes[0].Name)
	}
	return nil
}

func (s *Store) Count(ctx context.Context, name string) (int64, error) {
	if name != collection {
		return 0, fmt.Errorf("cannot count the collection %s through a REST service, which has persons only", name)
	}
	var n struct {
		Count *int64 `json:"count"`
		Error string `json:"error"`
	}
	status, err := s.get(ctx, "/persons/count", &n)
	switch {
	case err != nil:
		return 0, fmt.Errorf("count the persons of %s: %w", s.base, err)
	case status != http.StatusOK || n.Count == nil:
		return 0, fmt.Errorf("count the persons of %s: status %d: %s", s.base, status, store.OneLine(n.Error))
	}
	return *n.Count, nil
}

// It fails, because the API has no drop.
func (s *Store) Drop(context.Context, string) error {
	return fmt.Errorf("the REST service at %s does not support drop: "+
		"drop the collection person in its MongoDB, or load without --load drop", s.base)
}

func (s *Store) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
