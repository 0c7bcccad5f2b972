package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"os"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// credential is what a server keeps of a user for SCRAM-SHA-256 (RFC 5802 and 7677; manual: "SCRAM").
type credential struct {
	Salt, Stored, Server []byte
}

const iterations = 4096

func newCredential(password string) credential {
	salt := make([]byte, 28)
	rand.Read(salt)
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	check(err)
	stored := sha256.Sum256(sign(salted, "Client Key"))
	return credential{Salt: salt, Stored: stored[:], Server: sign(salted, "Server Key")}
}

func sign(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// exchange is an authentication under way.
type exchange struct {
	user, nonce, said string
	cred              credential
}

// saslStart answers the first message of a client.
func (c *conn) saslStart(command bson.D) bson.D {
	payload, _ := get(command, "payload").(bson.Binary)
	bare := strings.TrimPrefix(string(payload.Data), "n,,")
	name, nonce, _ := strings.Cut(bare, ",r=")
	name = strings.TrimPrefix(name, "n=")
	var cred credential
	known := false
	check(c.s.change(func(st *state) error {
		cred, known = st.users(c.s)[name]
		return nil
	}))
	if name == "__system" && c.s.keyFile { // members are this user to each other, with the key as the password
		key, err := os.ReadFile(c.s.args["keyFile"])
		check(err)
		cred, known = newCredential(strings.Join(strings.Fields(string(key)), "")), true // mongod ignores white space in it
	}
	if !known || text(command, "mechanism") != "SCRAM-SHA-256" {
		return failed(18, "AuthenticationFailed", "Authentication failed.")
	}
	extra := make([]byte, 12)
	rand.Read(extra)
	c.sasl = &exchange{user: name, nonce: nonce + base64.StdEncoding.EncodeToString(extra), cred: cred}
	first := "r=" + c.sasl.nonce + ",s=" + base64.StdEncoding.EncodeToString(cred.Salt) + ",i=4096"
	c.sasl.said = bare + "," + first
	return good(bson.E{Key: "conversationId", Value: int32(1)}, bson.E{Key: "done", Value: false},
		bson.E{Key: "payload", Value: bson.Binary{Data: []byte(first)}})
}

// saslContinue checks the client's proof and gives the server's.
func (c *conn) saslContinue(command bson.D) bson.D {
	payload, _ := get(command, "payload").(bson.Binary)
	if len(payload.Data) == 0 && c.user != "" {
		return good(bson.E{Key: "conversationId", Value: int32(1)}, bson.E{Key: "done", Value: true}, bson.E{Key: "payload", Value: bson.Binary{}})
	}
	bare, proof, ok := strings.Cut(string(payload.Data), ",p=")
	if c.sasl == nil || !ok || bare != "c=biws,r="+c.sasl.nonce {
		return failed(18, "AuthenticationFailed", "Authentication failed.")
	}
	said := c.sasl.said + "," + bare
	key, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || len(key) != sha256.Size {
		return failed(18, "AuthenticationFailed", "Authentication failed.")
	}
	subtle.XORBytes(key, key, sign(c.sasl.cred.Stored, said))
	if sum := sha256.Sum256(key); !hmac.Equal(sum[:], c.sasl.cred.Stored) {
		return failed(18, "AuthenticationFailed", "Authentication failed.")
	}
	c.user = c.sasl.user
	last := "v=" + base64.StdEncoding.EncodeToString(sign(c.sasl.cred.Server, said))
	return good(bson.E{Key: "conversationId", Value: int32(1)}, bson.E{Key: "done", Value: true},
		bson.E{Key: "payload", Value: bson.Binary{Data: []byte(last)}})
}

// open are the commands that nobody needs to authenticate for.
var open = map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "ping": true, "saslStart": true, "saslContinue": true,
	"buildInfo": true, "endSessions": true, "connectionStatus": true}

// allowed says whether a connection may send a command. Without users, a local one may initiate a set and create the
// first user (manual: "Localhost Exception in Self-Managed Deployments").
func (c *conn) allowed(name string) bool {
	if !c.s.keyFile || c.user != "" || open[name] {
		return true
	}
	first := false
	check(c.s.change(func(st *state) error {
		first = len(st.users(c.s)) == 0
		return nil
	}))
	if c.local && first && c.s.replica.arbiter() && forArbiters[name] {
		return true
	}
	return c.local && first && (name == "createUser" || name == "replSetInitiate")
}

// forArbiters are the commands that the localhost exception allows on a member that keeps no users (MongoDB's ticket
// SERVER-5479).
var forArbiters = map[string]bool{"getCmdLineOpts": true, "getParameter": true, "serverStatus": true}
