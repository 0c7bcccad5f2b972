package serve

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

const proxyName = "https://bench.example"

// behindProxy is a browser that reaches a page through a reverse proxy with TLS. keepHost is what a proxy does with the
// Host header that it was sent.
func behindProxy(t *testing.T, s *Server, keepHost bool) *http.Client {
	t.Helper()
	upstream, err := url.Parse(s.url(""))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.SetXForwarded()
		if keepHost {
			r.Out.Host = r.In.Host
		}
	}})
	t.Cleanup(proxy.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: limit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the proxy has a certificate of the test
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, proxy.Listener.Addr().String())
		},
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visit sends what a browser sends for a page or, with a form, for its button.
func visit(t *testing.T, c *http.Client, path, origin string, form url.Values) (*http.Response, string) {
	t.Helper()
	method, body := "GET", io.Reader(nil)
	if form != nil {
		method, body = "POST", strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, proxyName+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// The setup of docs/serve.md: a page on loopback, a proxy with TLS in front of it.
func TestBehindAProxyWithTLS(t *testing.T) {
	dir := t.TempDir()
	for name, keepHost := range map[string]bool{"the Host header kept": true, "the Host header rewritten": false} {
		t.Run(name, func(t *testing.T) {
			labs := &fakeLabs{broken: true}
			s := start(t, Options{Dir: dir, Labs: labs, Names: []string{proxyName}})
			c := behindProxy(t, s, keepHost)
			if got, want := s.Address(), proxyName+"/"; got != want {
				t.Errorf("the address to open is %s, want %s", got, want)
			}
			if resp, _ := visit(t, c, "/", "", nil); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("without the token the list is %d, although everybody reaches the proxy", resp.StatusCode)
			}
			resp, _ := visit(t, c, "/?token="+testToken, "", nil)
			if set := resp.Header.Get("Set-Cookie"); resp.Header.Get("Location") != "/" || !strings.Contains(set, "; Secure") ||
				!strings.Contains(set, "; HttpOnly") {
				t.Fatalf("the token leads to %q with the cookie %q", resp.Header.Get("Location"), set)
			}
			if resp, body := visit(t, c, "/", "", nil); resp.StatusCode != http.StatusOK || !strings.Contains(body, "/lab/three") {
				t.Errorf("the list is %d: %.300s", resp.StatusCode, body)
			}
			for _, origin := range []string{"http://bench.example", "https://evil.example", "https://bench.example.evil", "https://bench.example:8017", "null"} {
				if resp, _ := visit(t, c, "/heal/three", origin, url.Values{}); resp.StatusCode != http.StatusForbidden {
					t.Errorf("a form of %s is %d", origin, resp.StatusCode)
				}
			}
			if resp, body := visit(t, c, "/heal/three", proxyName,
				url.Values{"pid": {"0"}}); resp.StatusCode != http.StatusSeeOther || labs.healed != 1 {
				t.Errorf("healing is %d: %s", resp.StatusCode, body)
			}
		})
	}
}

func TestStopBehindAProxyWithTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := startRun(t, filepath.Join(dir, "r"))
	s := start(t, Options{Dir: dir, Names: []string{proxyName}})
	c := behindProxy(t, s, true)
	visit(t, c, "/?token="+testToken, "", nil)
	_, page := visit(t, c, "/live/"+idOf("r"), "", nil)
	pid := regexp.MustCompile(`name="pid" value="(\d+)"`).FindStringSubmatch(page)
	if pid == nil {
		t.Fatalf("the live page has no form: %.500s", page)
	}
	if resp, body := visit(t, c, "/stop/"+idOf("r"), proxyName,
		url.Values{"pid": {pid[1]}}); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("stopping is %d: %s", resp.StatusCode, body)
	}
	_ = cmd.Wait() // a run that was interrupted may end with any code
	r, err := record.OpenRun(filepath.Join(dir, "r"))
	if err != nil || r.Status != record.Interrupted {
		t.Errorf("the run is %+v, %v, want it interrupted", r, err)
	}
}

// A name is what browsers show, because its scheme decides about cookies and forms.
func TestNamesOfAPage(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8017}
	for _, name := range []string{
		"", " ", "a b", "*", "bench.example", "bench.example:443", "https://", "https://*", "https://*.example", "https://a b",
		"ftp://bench.example", "https://bench.example/records", "https://bench.example?x", "https://bench.example#x", "https://u:p@bench.example",
		"https://bench.example:0", "https://bench.example:65536", "https://bench.example:", "https://-", "//bench.example",
	} {
		if _, err := newGuard(addr, testToken, name); err == nil || !strings.Contains(err.Error(), "https://NAME") {
			t.Errorf("the name %q: got error %v, want the form of names", name, err)
		}
	}
	for name, c := range map[string]struct {
		ours, foreign []string // values of the Host header
		secure        bool
	}{
		"https://Bench.Example":      {[]string{"bench.example", "BENCH.example:443"}, []string{"bench.example:80", "bench.example:8017"}, true},
		"https://bench.example:443/": {[]string{"bench.example", "bench.example:443"}, []string{"bench.example:80"}, true},
		"https://bench.example:8443": {[]string{"bench.example:8443"}, []string{"bench.example", "bench.example:443"}, true},
		"https://[2001:db8::1]":      {[]string{"[2001:db8::1]", "[2001:db8::1]:443"}, []string{"[2001:db8::1]:80"}, true},
		"http://bench.example:8017":  {[]string{"bench.example:8017"}, []string{"bench.example"}, false},
		"http://bench.example":       {[]string{"bench.example", "bench.example:80"}, []string{"bench.example:443"}, false},
	} {
		g, err := newGuard(addr, testToken, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		get := func(host string) int {
			r := httptest.NewRequest("GET", "/", nil)
			r.Host = host
			r.Header.Set("Authorization", "Bearer "+testToken)
			status, _ := g.check(r, shows)
			return status
		}
		for _, host := range append(c.ours, "127.0.0.1:8017", "localhost:8017") {
			if status := get(host); status != 0 {
				t.Errorf("%s: Host %s is %d", name, host, status)
			}
		}
		for _, host := range append(c.foreign, "evil.example", "") {
			if status := get(host); status != http.StatusMisdirectedRequest {
				t.Errorf("%s: Host %q is %d", name, host, status)
			}
		}
		w := httptest.NewRecorder()
		g.keep(w, httptest.NewRequest("GET", "/?token="+testToken, nil))
		if set := w.Header().Get("Set-Cookie"); strings.Contains(set, "Secure") != c.secure {
			t.Errorf("%s: the cookie is %q", name, set)
		}
	}
	if _, err := newGuard(addr, "", proxyName); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a page behind a proxy without a token of the user: %v", err)
	}
}
