package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptSite serves MongoDB's download site over HTTPS on loopback: a release feed and an archive of 8.0.21 whose
// mongod says its version and nothing else. FEED and ARCHIVE are their addresses, KEY is the file with the key that
// signed the archive, SSL_CERT_FILE the authority to trust. With the word spoilt the archive is another one than the
// feed says.
func scriptSite(ts *testscript.TestScript, _ bool, args []string) {
	archive := siteArchive(ts)
	sum := sha256.Sum256(archive)
	if len(args) == 1 && args[0] == "spoilt" {
		archive = append(archive, 0)
	}
	signer, err := openpgp.NewEntity("Test Release Signing Key", "", "packaging@test.example", &packet.Config{RSABits: 2048})
	ts.Check(err)
	var key, signature bytes.Buffer
	ts.Check(signer.Serialize(&key))
	ts.Check(openpgp.DetachSign(&signature, signer, bytes.NewReader(archive), nil))
	var site *httptest.Server
	site = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/full.json":
			_, _ = fmt.Fprint(w, siteFeed(site.URL, hex.EncodeToString(sum[:])))
		case "/server.tgz.sig":
			_, _ = w.Write(signature.Bytes())
		case "/server.tgz":
			_, _ = w.Write(archive)
		default:
			http.NotFound(w, r)
		}
	}))
	ts.Defer(site.Close)
	authority := ts.MkAbs("authority.pem")
	ts.Check(os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600))
	ts.Setenv("SSL_CERT_FILE", authority)
	ts.Setenv("FEED", site.URL+"/full.json")
	ts.Check(os.WriteFile(ts.MkAbs("key.gpg"), key.Bytes(), 0o600))
	ts.Setenv("KEY", ts.MkAbs("key.gpg"))
	ts.Setenv("ARCHIVE", site.URL+"/server.tgz")
	ts.Setenv("SUM", hex.EncodeToString(sum[:]))
}

// siteFeed has two patches of 8.0 for the platform "testos" on every processor.
func siteFeed(url, sum string) string {
	var releases []string
	for _, version := range []string{"8.0.9", "8.0.21"} {
		var downloads []string
		for _, arch := range []string{"x86_64", "aarch64"} {
			downloads = append(downloads, fmt.Sprintf(`{"target":"testos","arch":%q,"edition":"targeted","archive":{"url":"%s/server.tgz","sha256":%q}}`, arch, url, sum))
		}
		releases = append(releases, fmt.Sprintf(`{"version":%q,"production_release":true,"downloads":[%s]}`, version, strings.Join(downloads, ",")))
	}
	return `{"versions":[` + strings.Join(releases, ",") + `]}`
}

func siteArchive(ts *testscript.TestScript) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"bin/mongod": "#!/bin/sh\necho 'db version v8.0.21'\n", "LICENSE": "the licence"} {
		ts.Check(w.WriteHeader(&tar.Header{Name: "mongodb/" + name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, err := w.Write([]byte(text))
		ts.Check(err)
	}
	ts.Check(errors.Join(w.Close(), z.Close()))
	return buf.Bytes()
}
