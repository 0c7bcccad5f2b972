package nats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/plimsoll-bench/plimsoll/fleet"
)

// operator is a NATS operator with an account that may use JetStream.
type operator struct {
	claims   *jwt.OperatorClaims
	accounts server.MemAccResolver
	system   string
	account  nkeys.KeyPair
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	keys := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		pair, err := create()
		if err != nil {
			t.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return pair, public
	}
	own, name := keys(nkeys.CreateOperator)
	o := &operator{claims: jwt.NewOperatorClaims(name)}
	add := func(limits jwt.JetStreamLimits) (nkeys.KeyPair, string) {
		pair, public := keys(nkeys.CreateAccount)
		claims := jwt.NewAccountClaims(public)
		claims.Limits.JetStreamLimits = limits
		text, err := claims.Encode(own)
		if err == nil {
			err = o.accounts.Store(public, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return pair, public
	}
	_, o.system = add(jwt.JetStreamLimits{})
	const none = jwt.NoLimit
	o.account, _ = add(jwt.JetStreamLimits{MemoryStorage: none, DiskStorage: none, Streams: none, Consumer: none})
	text, err := o.claims.Encode(own)
	if err == nil {
		o.claims, err = jwt.DecodeOperatorClaims(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// creds writes the credentials file of a new user.
func (o *operator) creds(t *testing.T) (file string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err1 := user.PublicKey()
	seed, err2 := user.Seed()
	token, err3 := jwt.NewUserClaims(public).Encode(o.account)
	text, err4 := jwt.FormatUserConfig(token, seed)
	file = filepath.Join(t.TempDir(), "user.creds")
	for _, err := range []error{err1, err2, err3, err4, os.WriteFile(file, text, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// Coordinator and agents have credentials files of the user's server. Those of another operator, and a file that is
// missing or damaged, are one sentence.
func TestUserServerWithCreds(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		TrustedOperators: []*jwt.OperatorClaims{o.claims}, AccountResolver: &o.accounts, SystemAccount: o.system,
		JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	theirs := Server{URL: "nats://" + s.Addr().String()}
	token := ""
	with := func(creds string) Server { return Server{URL: theirs.URL, Creds: creds, Token: token} }

	c := open(t, Options{Server: with(o.creds(t))})
	token = c.Token()
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: with(o.creds(t)), Facts: fleet.Facts{Name: "agent"}}, hand(wires))
	link := c.wait(t, 1)[0]
	agent := <-wires
	link.Send([]byte("down"))
	agent.Send([]byte("up"))
	expectFrames(t, agent, "down")
	expectFrames(t, link, "up")

	const refused = "does not accept the credentials. Check the credentials file"
	expectRefused(t, Options{Server: theirs}, refused)
	expectRefused(t, Options{Server: with(newOperator(t).creds(t))}, refused)
	expectRefused(t, Options{Server: with(filepath.Join(t.TempDir(), "none"))}, "no such file")
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.WriteFile(damaged, []byte("-----BEGIN NATS USER JWT-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expectRefused(t, Options{Server: with(damaged)}, "Check the address, the credentials file and the network")
	ended := start(t, AgentOptions{Server: with(newOperator(t).creds(t))}, hand(wires))
	if err := <-ended; err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("an agent with credentials of another operator ended with %v", err)
	}
}
