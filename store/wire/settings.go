package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Dialer opens the connection to a server's address.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Option changes how a store is opened.
type Option func(*settings)

// WithDialer makes the store open its connections through d, for tests and for measuring.
func WithDialer(d Dialer) Option { return func(s *settings) { s.dial, s.dialer = d, true } }

// settings is what the address and the configuration ask for.
type settings struct {
	seeds    []string // host:port
	direct   bool     // use the one server whatever its role
	setName  string
	database string
	appName  string
	tls      *tls.Config // nil for a connection in the clear
	auth     *credentials

	concern        store.Concern
	unacknowledged bool
	preference     preference

	timeout   time.Duration // of administrative commands, and for finding a server where there is no deadline
	connect   time.Duration // for one connection with TLS, greeting and authentication
	threshold time.Duration // servers this much slower than the nearest one are passed over

	notes  []string
	dial   Dialer
	dialer bool // dial is not our own
}

const (
	defaultTimeout = 10 * time.Second
	// defaultThreshold is the official drivers' localThresholdMS.
	defaultThreshold = 15 * time.Millisecond
)

// newSettings reads the address in cfg. Looking up a mongodb+srv address may take as long as ctx allows.
func newSettings(ctx context.Context, cfg store.Config) (*settings, error) {
	cs, err := parseAddress(ctx, cfg.Target)
	if err != nil {
		return nil, err
	}
	s := &settings{
		seeds: withPorts(cs.Hosts), setName: cs.ReplicaSet, database: cfg.Database, appName: cs.AppName,
		timeout: cfg.Timeout, threshold: defaultThreshold,
	}
	s.direct = cs.DirectConnection || cs.Connect == connstring.SingleConnect
	if s.appName == "" {
		s.appName = "plimsoll"
	}
	if s.database == "" {
		s.database = cs.Database
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	s.connect = s.timeout
	if cs.ConnectTimeoutSet && cs.ConnectTimeout > 0 {
		s.connect = cs.ConnectTimeout
	}
	if cs.LocalThresholdSet {
		s.threshold = cs.LocalThreshold
	}
	s.dial = (&net.Dialer{}).DialContext
	return s, s.complete(cs, cfg)
}

// complete reads the parts that can be wrong.
func (s *settings) complete(cs *connstring.ConnString, cfg store.Config) error {
	if s.database == "" {
		return errors.New("no database: name one in the address (mongodb://HOST/DATABASE) or in the configuration")
	}
	if err := s.checkOptions(cs); err != nil {
		return store.WrongAddress(cfg.Target, err.Error())
	}
	if err := s.mergeConcern(cs, cfg.Concern); err != nil {
		return err
	}
	var err error
	if s.tls, err = tlsConfig(cs); err != nil {
		return store.WrongAddress(cfg.Target, err.Error())
	}
	s.auth, err = newCredentials(cs)
	return err
}

// parseAddress parses a connection string with the official driver's parser. No error repeats any part
// of the address that could be a password.
func parseAddress(ctx context.Context, target string) (*connstring.ConnString, error) {
	type parsed struct {
		cs  *connstring.ConnString
		err error
	}
	done := make(chan parsed, 1)
	go func() {
		cs, err := connstring.ParseAndValidate(target)
		done <- parsed{cs, err}
	}()
	select {
	case p := <-done:
		if p.err != nil {
			return nil, store.WrongAddress(target, explainParse(p.err.Error()))
		}
		return p.cs, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("looking up the address %s took too long (%w): check DNS, or give the hosts as mongodb://HOST,HOST",
			store.Redact(target), ctx.Err())
	}
}

// explainParse turns a parser's message into one that holds no part of the user information.
func explainParse(msg string) string {
	switch {
	case strings.Contains(msg, "username required"), strings.Contains(msg, "password required"):
		return msg
	case strings.Contains(msg, "user info"), strings.Contains(msg, "username"), strings.Contains(msg, "password"):
		return "percent-encode the characters @ : / % in the user name and password"
	case strings.Contains(msg, "invalid host"):
		return "a host is not HOST or HOST:PORT (percent-encode @ : / % in a user name or password)"
	}
	return msg
}

// withPorts adds MongoDB's port where a host has none.
func withPorts(hosts []string) []string {
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, withPort(h))
	}
	return out
}

func withPort(host string) string {
	host = strings.ToLower(host)
	if _, _, err := net.SplitHostPort(host); err == nil || strings.HasSuffix(host, ".sock") {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "27017")
}

// mergeConcern takes what the address says where the configuration says nothing.
func (s *settings) mergeConcern(cs *connstring.ConnString, c store.Concern) error {
	if c.W == "" {
		c.W = cs.WString
		if cs.WNumberSet {
			c.W = strconv.Itoa(cs.WNumber)
		}
	}
	if c.Journal == nil && cs.JSet {
		c.Journal = &cs.J
	}
	if c.Journal == nil {
		c.Journal = shortJournal(cs)
	}
	if c.Read == "" {
		c.Read = cs.ReadConcernLevel
	}
	if c.Preference == "" {
		c.Preference = cs.ReadPreference
	}
	if n, err := strconv.ParseInt(c.W, 10, 64); err == nil && (n < 0 || n > 1<<31-1) {
		return fmt.Errorf("write concern w=%s is out of range: use 0, 1, 2, … or majority", c.W)
	}
	if c.Unacknowledged() && c.Journal != nil && *c.Journal {
		return errors.New("write concern w=0 with j=true contradicts itself: a write that is not acknowledged cannot be acknowledged as journaled")
	}
	mode, err := parsePreference(c.Preference)
	if c.Causal && c.Unacknowledged() {
		return store.ErrCausalUnacknowledged
	}
	s.concern, s.preference, s.unacknowledged = c, mode, c.Unacknowledged()
	return err
}

// shortJournal reads j=true, which servers' documentation uses beside journal=true.
func shortJournal(cs *connstring.ConnString) *bool {
	values := cs.UnknownOptions["j"]
	if len(values) == 0 {
		return nil
	}
	on := strings.EqualFold(values[len(values)-1], "true")
	return &on
}

// appendWriteConcern writes writeConcern if one is asked for.
func (s *settings) appendWriteConcern(dst []byte) []byte {
	if s.concern.W == "" && s.concern.Journal == nil {
		return dst
	}
	dst = appendKey(dst, rawbson.Document, "writeConcern")
	start, dst := beginDocument(dst)
	if n, err := strconv.ParseInt(s.concern.W, 10, 32); err == nil {
		dst = appendInt32(dst, "w", int32(n))
	} else if s.concern.W != "" {
		dst = appendString(dst, "w", s.concern.W)
	}
	if s.concern.Journal != nil {
		dst = appendBool(dst, "j", *s.concern.Journal)
	}
	return rawbson.Close(dst, start)
}

// appendReadConcern writes readConcern if one is asked for, or the read must not be behind a time; 0 is none.
func (s *settings) appendReadConcern(dst []byte, after uint64) []byte {
	if s.concern.Read == "" && after == 0 {
		return dst
	}
	dst = appendKey(dst, rawbson.Document, "readConcern")
	start, dst := beginDocument(dst)
	if s.concern.Read != "" {
		dst = appendString(dst, "level", s.concern.Read)
	}
	if after > 0 {
		dst = appendAfter(dst, after)
	}
	return rawbson.Close(dst, start)
}

// describe writes down what decides how this client behaves, under the names that store/mongo uses.
func (s *settings) describe(text map[string]string) {
	text["client"] = "wire"
	text["client retryWrites"], text["client retryReads"] = "false", "false"
	text["client tls"] = strconv.FormatBool(s.tls != nil)
	text["client read preference"] = preferenceNames[s.preference]
	if s.concern.Read != "" {
		text["client read concern"] = s.concern.Read
	}
	if s.concern.Causal {
		text["client sessions"] = "causally consistent"
	}
	var parts []string
	if s.concern.W != "" {
		parts = append(parts, "w:"+s.concern.W)
	}
	if s.concern.Journal != nil {
		parts = append(parts, "j:"+strconv.FormatBool(*s.concern.Journal))
	}
	if len(parts) > 0 {
		text["client write concern"] = strings.Join(parts, " ")
	}
}
