// Package vspheretest simulates a vCenter for tests: govmomi's simulator, with what it lacks of storage policies.
package vspheretest

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/simulator"

	_ "github.com/vmware/govmomi/pbm/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

// Center is a simulated vCenter with three virtual machines on three hosts.
type Center struct {
	Model *simulator.Model
	// URL is the address of its API, and CA a file with its certificate.
	URL, CA string
	// Handler is the API.
	Handler http.Handler
	// Gate decides what a request becomes: true if it was answered. nil passes all on.
	Gate atomic.Pointer[func(w http.ResponseWriter, r *http.Request, body string) bool]
}

// alone is held by the test that has a vCenter, because the simulator writes to variables of its packages.
var alone sync.Mutex

// New starts a vCenter that ends with the test. It waits until no other test of this process has one.
func New(t testing.TB) *Center {
	t.Helper()
	alone.Lock()
	t.Cleanup(alone.Unlock) // the last one, after the server has ended
	m := simulator.VPX()
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 0, 1, 3, 3
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.TLS = new(tls.Config)
	m.Service.RegisterEndpoints = true
	server := m.Service.NewServer()
	t.Cleanup(server.Close)
	c := &Center{Model: m, CA: filepath.Join(t.TempDir(), "ca.pem")}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: server.URL.Scheme, Host: server.URL.Host})
	// The simulator is on loopback.
	pass.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		if gate := c.Gate.Load(); gate != nil && (*gate)(w, r, string(body)) {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		pass.ServeHTTP(w, r)
	})
	front := httptest.NewTLSServer(c.Handler)
	t.Cleanup(front.Close)
	c.URL = front.URL + "/sdk"
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	if err := os.WriteFile(c.CA, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// VM is a virtual machine of the simulator: DC0_C0_RP0_VM0, 1 or 2.
func (c *Center) VM(t testing.TB, name string) *simulator.VirtualMachine {
	t.Helper()
	for _, o := range c.Model.Map().All("VirtualMachine") {
		if vm, ok := o.(*simulator.VirtualMachine); ok && vm.Name == name {
			return vm
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}
