package wire

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
)

const (
	mechanismSHA1   = "SCRAM-SHA-1"
	mechanismSHA256 = "SCRAM-SHA-256"

	// minIterations is the smallest accepted number of iterations (RFC 7677).
	minIterations = 4096
	// maxSteps exceeds the steps of any SCRAM conversation.
	maxSteps = 8
)

// credentials authenticate connections. They keep the derived keys, which only the first connection computes.
type credentials struct {
	user      string
	source    string // database of the user
	mechanism string // empty: the strongest one of the server
	sha1      *scram.Client
	sha256    *scram.Client
	sha256Err error // the password cannot be used with SCRAM-SHA-256
}

// newCredentials reads the user of an address, nil if there is none.
func newCredentials(cs *connstring.ConnString) (*credentials, error) {
	if !cs.UsernameSet {
		if cs.AuthMechanism != "" {
			return nil, fmt.Errorf("authMechanism=%s needs a user name in the address", cs.AuthMechanism)
		}
		return nil, nil
	}
	c := &credentials{user: cs.Username, source: cs.AuthSource, mechanism: strings.ToUpper(cs.AuthMechanism)}
	digest := md5.Sum([]byte(cs.Username + ":mongo:" + cs.Password))
	var err error
	if c.sha1, err = scram.SHA1.NewClientUnprepped(cs.Username, hex.EncodeToString(digest[:]), ""); err != nil {
		return nil, errors.New("the user name cannot be used with SCRAM-SHA-1")
	}
	password, err := stringprep.SASLprep.Prepare(cs.Password)
	if err == nil {
		c.sha256, err = scram.SHA256.NewClientUnprepped(cs.Username, password, "")
	}
	if err != nil {
		c.sha256Err = errors.New("the user name or password has characters that SCRAM-SHA-256 does not allow")
		return c, nil
	}
	c.sha256.WithMinIterations(minIterations)
	c.sha1.WithMinIterations(minIterations)
	return c, nil
}

func (c *credentials) choose(g *greeting) (string, *scram.Client, error) {
	mech := c.mechanism
	if mech == "" {
		mech = mechanismSHA1
		if slices.Contains(g.mechanisms, mechanismSHA256) {
			mech = mechanismSHA256
		}
	}
	if mech == mechanismSHA256 {
		return mech, c.sha256, c.sha256Err
	}
	return mech, c.sha1, nil
}

// authError is a failed authentication, which is not retried.
type authError struct{ err error }

func (e *authError) Error() string { return e.err.Error() }
func (e *authError) Unwrap() error { return e.err }

// authenticate authenticates the user and the server to each other.
func (l *link) authenticate(ctx context.Context, c *credentials) error {
	mech, client, err := c.choose(l.greeting)
	if err != nil {
		return &authError{err}
	}
	if err = l.converse(ctx, c, mech, client.NewConversation()); err == nil {
		return nil
	}
	err = fmt.Errorf("authentication failed for user %q on database %q at %s with %s: %w (check user, password and authSource)",
		c.user, c.source, l.addr, mech, err)
	var refusal *store.ServerError
	var broken *scramError
	if errors.As(err, &broken) {
		return &authError{err}
	}
	if errors.As(err, &refusal) {
		// If the server could not read the user, the password may be right, and the next attempt may succeed.
		if o, _ := store.ClassifyServerError(true, refusal.Code, refusal.CodeName, nil,
			refusal.Message); o == store.Rejected {
			return &authError{err}
		}
	}
	return err
}

// scramError reports an invalid message of the server.
type scramError struct{ err error }

func (e *scramError) Error() string { return e.err.Error() }

// converse does the SCRAM conversation.
func (l *link) converse(ctx context.Context, c *credentials, mech string, conv *scram.ClientConversation) error {
	first, err := conv.Step("")
	if err != nil {
		return &scramError{err}
	}
	cmd := saslStart(mech, first)
	for range maxSteps {
		doc, err := l.run(ctx, c.source, cmd)
		if err != nil {
			return err
		}
		step, err := parseSASL(doc)
		if err != nil {
			return &scramError{err}
		}
		if step.done && conv.Done() {
			return verified(conv)
		}
		answer := ""
		if !conv.Done() {
			if answer, err = conv.Step(string(step.payload)); err != nil {
				return &scramError{err}
			}
		}
		if step.done {
			return verified(conv)
		}
		cmd = saslContinue(step.conversation, answer)
	}
	return &scramError{errors.New("the server does not end the conversation")}
}

// verified checks the server's proof that it knows the password.
func verified(conv *scram.ClientConversation) error {
	if !conv.Done() || !conv.Valid() {
		return &scramError{errors.New("the server ended the conversation without proving that it knows the password")}
	}
	return nil
}

func saslStart(mech, payload string) []byte {
	d, start := rawbson.Open(nil)
	d = bsoncore.AppendInt32Element(d, "saslStart", 1)
	d = bsoncore.AppendStringElement(d, "mechanism", mech)
	d = bsoncore.AppendBinaryElement(d, "payload", 0, []byte(payload))
	d, options := rawbson.Open(bsoncore.AppendHeader(d, rawbson.Document, "options"))
	d = rawbson.Close(bsoncore.AppendBooleanElement(d, "skipEmptyExchange", true), options)
	return rawbson.Close(d, start)
}

func saslContinue(conversation int64, payload string) []byte {
	d, start := rawbson.Open(nil)
	d = bsoncore.AppendInt32Element(d, "saslContinue", 1)
	d = bsoncore.AppendInt32Element(d, "conversationId", int32(conversation))
	d = bsoncore.AppendBinaryElement(d, "payload", 0, []byte(payload))
	return rawbson.Close(d, start)
}

type saslStep struct {
	conversation int64
	payload      []byte
	done         bool
}

// parseSASL reads {conversationId, payload, done}.
func parseSASL(doc []byte) (saslStep, error) {
	var s saslStep
	body, _, ok := rawbson.Split(doc)
	if !ok {
		return s, errBSON
	}
	for len(body) > 0 {
		key, v, size := rawbson.Next(body)
		if size == 0 {
			return s, errBSON
		}
		switch string(key) {
		case "conversationId":
			s.conversation, _ = v.Number()
		case "done":
			s.done = isTrue(v)
		case "payload":
			if v.Kind == rawbson.Binary {
				s.payload = v.Data[5:]
			} else {
				s.payload, _ = v.Text()
			}
		}
		body = body[size:]
	}
	return s, nil
}
