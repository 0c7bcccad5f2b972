package engine_test

import (
	"context"
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// forEachMongod runs a test on the stand-in and on a real mongod where there is one.
func forEachMongod(t *testing.T, test func(t *testing.T, e engine.Engine, binary string)) {
	programs := map[string]string{"stand-in": enginetest.StandinMongo(t, "8.0.12")}
	if binary, ok := enginetest.RealMongo(t); ok {
		programs["mongod"] = binary
	}
	for name, binary := range programs {
		t.Run(name, func(t *testing.T) {
			e, err := engine.ByName(t.TempDir(), engine.Mongod)
			if err != nil {
				t.Fatal(err)
			}
			test(t, e, binary)
		})
	}
}

// A mongod is a replica set of one member unless a bare server is asked for.
func TestMongodIsSet(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	forEachMongod(t, func(t *testing.T, e engine.Engine, binary string) {
		var h engine.Hello
		s := enginetest.Start(t, e, engine.StartOptions{Binary: binary})
		if err := dial(t, s.URI()).Database("admin").RunCommand(t.Context(),
			bson.D{{Key: "isMaster", Value: 1}}).Decode(&h); err != nil || h.SetName != "rs0" || !h.Master {
			t.Errorf("it is %+v, error %v", h, err)
		}
		h = engine.Hello{}
		s = enginetest.Start(t, e, engine.StartOptions{Binary: binary, Standalone: true})
		if err := dial(t, s.URI()).Database("admin").RunCommand(t.Context(),
			bson.D{{Key: "isMaster", Value: 1}}).Decode(&h); err != nil || h.SetName != "" || !h.Master {
			t.Errorf("a bare server is %+v, error %v", h, err)
		}
	})
}

// With access control and TLS (where the server has it) only the user gets in, and only by TLS. Kept data take a new
// password, a new port, and a start without access control.
func TestMongodAccess(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	forEachMongod(t, func(t *testing.T, e engine.Engine, binary string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		secure := enginetest.HasTLS(t, binary)
		opts := engine.StartOptions{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"), User: "ada",
			Password: "s3cr3t/@:%", TLS: secure}
		s := enginetest.Start(t, e, opts)
		people := func(uri string) error {
			c, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(2 * time.Second).SetRetryWrites(
				false))
			if err != nil {
				return err
			}
			defer func() { _ = c.Disconnect(ctx) }()
			_, err = c.Database("test").Collection("people").InsertOne(ctx, bson.M{"_id": bson.NewObjectID()})
			return err
		}
		if err := people(s.URI()); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(s.URI())
		if err != nil {
			t.Fatal(err)
		}
		nobody, clear := *u, *u
		nobody.User, nobody.RawQuery = nil, strings.Replace(u.RawQuery, "authSource=admin&", "", 1)
		clear.RawQuery = "replicaSet=rs0&authSource=admin"
		if err := people(nobody.String()); err == nil || !strings.Contains(err.Error(), "requires authentication") {
			t.Errorf("without a user: %v", err)
		}
		if secure {
			if err := people(clear.String()); err == nil {
				t.Error("without TLS a write was accepted")
			}
			checkServedCertificate(t, u.Host)
		}
		run := filepath.Dir(s.Logs()[0])
		checkSecret(t, run, "s3cr3t")
		if err := s.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(run); err == nil {
			t.Errorf("%s, with key and certificates, is left", run)
		}
		opts.Password = "another"
		again := enginetest.Start(t, e, opts)
		if err := people(again.URI()); err != nil {
			t.Errorf("with a new password on kept data: %v", err)
		}
		if err := again.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		opts.User, opts.Password, opts.TLS = "", "", false
		if err := people(enginetest.Start(t, e, opts).URI()); err != nil {
			t.Errorf("without access control on kept data: %v", err)
		}
	})
}

// checkServedCertificate makes sure that a server shows a certificate of its address.
func checkServedCertificate(t *testing.T, address string) {
	t.Helper()
	// it looks at the certificate below
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.ConnectionState().PeerCertificates[0].VerifyHostname("127.0.0.1"); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
}

// checkSecret makes sure that no file below a directory has a secret in it.
func checkSecret(t *testing.T, dir, secret string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "conversation.ndjson" {
			return nil // a file of a running server may go; the stand-in writes down what it was told
		}
		text, err := os.ReadFile(name)
		if err == nil {
			files++
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the password", name)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were looked through, error %v", files, err)
	}
}
