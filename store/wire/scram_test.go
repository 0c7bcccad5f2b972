package wire

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
)

// exchangeVector is a published SCRAM conversation of user "user" with password "pencil".
type exchangeVector struct {
	mechanism, nonce                 string
	clientFirst, serverFirst         string
	clientFinal, serverFinal, source string
}

// The example of RFC 7677, section 3, and that of MongoDB's authentication specification for
// SCRAM-SHA-1, whose password is a digest.
var vectors = []exchangeVector{
	{
		mechanism: mechanismSHA256, nonce: "rOprNGfwEbeRWgbNEkqO", source: "admin",
		clientFirst: "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
		serverFirst: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
		clientFinal: "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
		serverFinal: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
	},
	{
		mechanism: mechanismSHA1, nonce: "fyko+d2lbbFgONRv9qkxdawL", source: "users",
		clientFirst: "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
		serverFirst: "r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,s=rQ9ZY3MntBeuP3E1TDVC4w==,i=10000",
		clientFinal: "c=biws,r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,p=MC2T8BvbmWRckDw8oWl5IVghwCY=",
		serverFinal: "v=UMWeI25JD1yNYZRMpZ4VHvhZ9e0=",
	},
}

// scramServer plays the server's side of a vector.
type scramServer struct {
	t     *testing.T
	v     exchangeVector
	final string // its last message
	done  bool   // it says done with its last message
	steps int
}

func (s *scramServer) answer(c *call) any {
	if db := c.body.Lookup("$db").StringValue(); db != s.v.source {
		s.t.Errorf("%s on database %q, want %q", c.name, db, s.v.source)
	}
	_, payload, _ := c.body.Lookup("payload").BinaryOK()
	s.steps++
	reply := func(text string, done bool) bson.D {
		return bson.D{{Key: "conversationId", Value: 3}, {Key: "done", Value: done},
			{Key: "payload", Value: []byte(text)}, {Key: "ok", Value: 1.0}}
	}
	switch {
	case c.name == "saslStart":
		s.expect("mechanism", c.body.Lookup("mechanism").StringValue(), s.v.mechanism)
		s.expect("first message", string(payload), s.v.clientFirst)
		return reply(s.v.serverFirst, false)
	case len(payload) > 0:
		s.expect("final message", string(payload), s.v.clientFinal)
		return reply(s.final, s.done)
	}
	return reply("", true)
}

func (s *scramServer) expect(what, got, want string) {
	if got != want {
		s.t.Errorf("%s is %q, want %q", what, got, want)
	}
}

// authenticateWith leads one conversation with the vector's nonce.
func authenticateWith(t *testing.T, server *scramServer, mechs ...string) error {
	t.Helper()
	n := newNetwork(t)
	n.add("h:27017", &fake{hello: func() bson.D { return append(standalone(), bson.E{Key: "saslSupportedMechs", Value: mechs}) },
		answer: server.answer})
	st, err := newSettings(t.Context(), store.Config{Target: "mongodb://user:pencil@h/?authSource=" + server.v.source, Database: "db"})
	if err != nil {
		t.Fatal(err)
	}
	st.dial = n.dial
	nonce := func() string { return server.v.nonce }
	st.auth.sha1.WithNonceGenerator(nonce)
	st.auth.sha256.WithNonceGenerator(nonce)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := openLink(ctx, st, "h:27017")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	return l.authenticate(ctx, st.auth)
}

func TestPublishedConversations(t *testing.T) {
	for _, v := range vectors {
		for _, done := range []bool{true, false} { // servers of old end with an empty exchange
			server := &scramServer{t: t, v: v, final: v.serverFinal, done: done}
			if err := authenticateWith(t, server, v.mechanism); err != nil {
				t.Errorf("%s: %v", v.mechanism, err)
			}
			if want := map[bool]int{true: 2, false: 3}[done]; server.steps != want {
				t.Errorf("%s took %d steps, want %d", v.mechanism, server.steps, want)
			}
		}
	}
}

func TestServerMustProveItself(t *testing.T) {
	for name, final := range map[string]string{"wrong proof": "v=AAAA", "no proof": "", "error": "e=other-error"} {
		server := &scramServer{t: t, v: vectors[0], final: final, done: true}
		if err := authenticateWith(t, server, mechanismSHA256); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWeakIterationCountIsRefused(t *testing.T) {
	v := vectors[0]
	v.serverFirst = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=10"
	if err := authenticateWith(t, &scramServer{t: t, v: v, final: v.serverFinal, done: true},
		mechanismSHA256); err == nil {
		t.Error("accepted 10 iterations")
	}
}

func TestWrongPassword(t *testing.T) {
	n := newNetwork(t)
	n.add("h:27017", &fake{hello: standalone, answer: document(refusal(18, "AuthenticationFailed"))})
	began := time.Now()
	_, err := n.open(store.Config{Target: "mongodb://joe:s3cret@h", Timeout: time.Minute})
	if err == nil {
		t.Fatal("accepted")
	}
	requireMessage(t, err, "check user, password and authSource", "s3cret")
	if time.Since(began) > 30*time.Second {
		t.Error("a refused password was tried until the deadline")
	}
}

// TestAuthenticationIsTriedAgain: a server with an internal error, for example because its connections to its storage
// were cut, has not refused the password.
func TestAuthenticationIsTriedAgain(t *testing.T) {
	n := newNetwork(t)
	server := &scramServer{t: t, v: vectors[0], final: vectors[0].serverFinal, done: true}
	failures := 2
	n.add("h:27017", &fake{hello: func() bson.D {
		return append(standalone(), bson.E{Key: "saslSupportedMechs", Value: bson.A{mechanismSHA256}})
	}, answer: func(c *call) any {
		if c.name == "saslStart" && failures > 0 {
			failures--
			return refusal(1, "InternalError")
		}
		if c.name == "insert" {
			return bson.D{{Key: "n", Value: 1}, {Key: "ok", Value: 1}}
		}
		return server.answer(c)
	}})
	s, err := Open(t.Context(), store.Config{Target: "mongodb://user:pencil@h/", Database: "db"}, WithDialer(n.dial),
		func(st *settings) { st.auth.sha256.WithNonceGenerator(func() string { return vectors[0].nonce }) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if res := insertWithin(t, session, time.Minute); res.Outcome != store.OK {
		t.Errorf("%+v", res)
	}
}

// TestPasswordChangedDuringARun: a session that cannot authenticate again reports that.
func TestPasswordChangedDuringARun(t *testing.T) {
	n := newNetwork(t)
	locked := false
	server := &scramServer{t: t, v: vectors[0], final: vectors[0].serverFinal, done: true}
	f := n.add("h:27017", &fake{hello: func() bson.D {
		return append(standalone(), bson.E{Key: "saslSupportedMechs", Value: bson.A{mechanismSHA256}})
	}, answer: func(c *call) any {
		if c.name == "insert" {
			return errRefused
		}
		if locked {
			return refusal(18, "AuthenticationFailed")
		}
		return server.answer(c)
	}})
	s, err := Open(t.Context(), store.Config{Target: "mongodb://user:pencil@h/", Database: "db"}, WithDialer(n.dial),
		func(st *settings) { st.auth.sha256.WithNonceGenerator(func() string { return vectors[0].nonce }) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	insertWithin(t, session, time.Minute)
	n.set(func() { locked = true; f.down = false })
	if res := insertWithin(t, session, time.Minute); res.Outcome != store.Rejected || res.Code != 18 || res.Attempts != 0 {
		t.Errorf("%+v", res)
	}
}
