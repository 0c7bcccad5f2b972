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

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Dialer opens the connection to a server's address.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Option changes how a store is opened.
type Option func(*settings)

// WithDialer makes the store open its connections by d, for tests and measurements.
func WithDialer(d Dialer) Option { return func(s *settings) { s.dial, s.dialer = d, true } }

// settings of the address and the configuration.
type settings struct {
	seeds    []string // host:port
	direct   bool     // use the one server in any role
	setName  string
	database string
	appName  string
	tls      *tls.Config // nil for an unencrypted connection
	auth     *credentials

	concern        store.Concern
	unacknowledged bool
	preference     preference

	timeout   time.Duration // of administrative commands, and for finding a server without a deadline
	connect   time.Duration // for one connection with TLS, greeting and authentication
	threshold time.Duration // ignore servers that are slower than the nearest one by more

	notes  []string
	dial   Dialer
	dialer bool // dial is that of [WithDialer]
}

const (
	defaultTimeout = 10 * time.Second
	// defaultThreshold is the official drivers' localThresholdMS.
	defaultThreshold = 15 * time.Millisecond
)

// newSettings reads the address in cfg. ctx bounds the lookup of a mongodb+srv address.
func newSettings(ctx context.Context, cfg store.Config) (*settings, error) {
	cs, notes, err := parseAddress(ctx, cfg.Target)
	if err != nil {
		return nil, err
	}
	s := &settings{
		seeds: withPorts(cs.Hosts), setName: cs.ReplicaSet, database: cfg.Database, appName: cs.AppName,
		timeout: cfg.Timeout, threshold: defaultThreshold, notes: notes,
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
	s.dial = (&dial.Dialer{}).DialContext
	return s, s.complete(cs, cfg)
}

// complete reads the parts that can be invalid.
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

// parseAddress parses a connection string with the official driver's parser, and notes options without effect. Its
// errors contain no part of the address that could be a password.
func parseAddress(ctx context.Context, target string) (cs *connstring.ConnString, notes []string, err error) {
	address, err := mongouri.Parse(target)
	if err == nil {
		address, notes, err = address.Known()
	}
	if err != nil {
		return nil, nil, store.WrongAddress(target, err.Error())
	}
	type parsed struct {
		cs  *connstring.ConnString
		err error
	}
	done := make(chan parsed, 1)
	go func() {
		cs, err := connstring.ParseAndValidate(address.String())
		done <- parsed{cs, err}
	}()
	select {
	case p := <-done:
		if p.err != nil {
			return nil, nil, store.WrongAddress(target, explainParse(p.err.Error()))
		}
		return p.cs, notes, nil
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("cannot look up the address %s in time (%w): check DNS, or use mongodb://HOST,HOST",
			store.Redact(target), ctx.Err())
	}
}

// explainParse removes the user information from a message of the parser.
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

// withPorts adds MongoDB's port to hosts without one.
func withPorts(hosts []string) []string {
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, withPort(h))
	}
	return out
}

func withPort(host string) string { return mongouri.WithPort(strings.ToLower(host)) }

// mergeConcern adds the settings of the address that the configuration does not have.
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
		return errors.New("write concern w=0 and j=true contradict each other: " +
			"a write without acknowledgement cannot be acknowledged as journaled")
	}
	mode, err := parsePreference(c.Preference)
	if c.Causal && c.Unacknowledged() {
		return store.ErrCausalUnacknowledged
	}
	s.concern, s.preference, s.unacknowledged = c, mode, c.Unacknowledged()
	return err
}

// appendWriteConcern writes writeConcern, if there is one.
func (s *settings) appendWriteConcern(dst []byte) []byte {
	if s.concern.W == "" && s.concern.Journal == nil {
		return dst
	}
	dst = bsoncore.AppendHeader(dst, rawbson.Document, "writeConcern")
	dst, start := rawbson.Open(dst)
	if n, err := strconv.ParseInt(s.concern.W, 10, 32); err == nil {
		dst = bsoncore.AppendInt32Element(dst, "w", int32(n))
	} else if s.concern.W != "" {
		dst = bsoncore.AppendStringElement(dst, "w", s.concern.W)
	}
	if s.concern.Journal != nil {
		dst = bsoncore.AppendBooleanElement(dst, "j", *s.concern.Journal)
	}
	return rawbson.Close(dst, start)
}

// appendReadConcern writes readConcern, if there is one or the read must not precede a time. A time of 0 is none.
func (s *settings) appendReadConcern(dst []byte, after uint64) []byte {
	if s.concern.Read == "" && after == 0 {
		return dst
	}
	dst = bsoncore.AppendHeader(dst, rawbson.Document, "readConcern")
	dst, start := rawbson.Open(dst)
	if s.concern.Read != "" {
		dst = bsoncore.AppendStringElement(dst, "level", s.concern.Read)
	}
	if after > 0 {
		dst = appendAfter(dst, after)
	}
	return rawbson.Close(dst, start)
}

// describe returns the settings that affect the measurement, with the names of store/mongo.
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
