package serve

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const testToken = "a-token-of-some-length"

func guardAt(t *testing.T, ip string) *Guard {
	t.Helper()
	g, err := newGuard(&net.TCPAddr{IP: net.ParseIP(ip), Port: 8017}, testToken)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGuard(t *testing.T) {
	type header map[string]string
	cookie := header{"Cookie": "plimsoll-8017=" + testToken}
	for _, c := range []struct {
		name, ip, host, method string
		header                 header
		query                  string
		change                 bool
		want                   int
	}{
		{name: "loopback reads without a token", ip: "127.0.0.1", host: "127.0.0.1:8017"},
		{name: "by name", ip: "127.0.0.1", host: "LocalHost:8017"},
		{name: "IPv6", ip: "::1", host: "[::1]:8017"},
		{name: "a name bound anew", ip: "127.0.0.1", host: "evil.example:8017", want: 421},
		{name: "no host", ip: "127.0.0.1", host: "", want: 421},
		{name: "another port", ip: "127.0.0.1", host: "127.0.0.1:80", want: 421},
		{name: "beyond loopback a token is needed", ip: "192.0.2.7", host: "192.0.2.7:8017", want: 401},
		{name: "beyond loopback with the token", ip: "192.0.2.7", host: "192.0.2.7:8017", header: cookie},
		{name: "bearer", ip: "192.0.2.7", host: "192.0.2.7:8017", header: header{"Authorization": "Bearer " + testToken}},
		{name: "in the address", ip: "192.0.2.7", host: "192.0.2.7:8017", query: "token=" + testToken},
		{name: "wrong token", ip: "192.0.2.7", host: "192.0.2.7:8017", query: "token=x", want: 401},
		{name: "reading by POST", ip: "127.0.0.1", host: "127.0.0.1:8017", method: "POST", want: 405},
		{name: "changing by GET", ip: "127.0.0.1", host: "127.0.0.1:8017", change: true, header: cookie, want: 405},
		{name: "changing without a token", ip: "127.0.0.1", host: "127.0.0.1:8017", method: "POST", change: true, want: 401},
		{name: "changing", ip: "127.0.0.1", host: "127.0.0.1:8017", method: "POST", change: true, header: cookie},
		{name: "foreign origin", ip: "127.0.0.1", host: "127.0.0.1:8017", header: header{"Origin": "http://evil.example"}, want: 403},
		{name: "null origin", ip: "127.0.0.1", host: "127.0.0.1:8017", header: header{"Origin": "null"}, want: 403},
		{name: "another port is another origin", ip: "127.0.0.1", host: "127.0.0.1:8017", method: "POST", change: true,
			header: header{"Origin": "http://127.0.0.1:9999", "Cookie": cookie["Cookie"]}, want: 403},
		{name: "own origin", ip: "127.0.0.1", host: "127.0.0.1:8017", method: "POST", change: true,
			header: header{"Origin": "http://127.0.0.1:8017", "Cookie": cookie["Cookie"], "Sec-Fetch-Site": "same-origin"}},
		{name: "a link elsewhere", ip: "127.0.0.1", host: "127.0.0.1:8017",
			header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}},
		{name: "a frame elsewhere", ip: "127.0.0.1", host: "127.0.0.1:8017",
			header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, want: 403},
		{name: "a script elsewhere", ip: "127.0.0.1", host: "127.0.0.1:8017",
			header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, want: 403},
		{name: "a form elsewhere", ip: "127.0.0.1", host: "127.0.0.1:8017", method: "POST", change: true,
			header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Cookie": cookie["Cookie"]}, want: 403},
		{name: "an unknown site", ip: "127.0.0.1", host: "127.0.0.1:8017", header: header{"Sec-Fetch-Site": "whatever"}, want: 403},
	} {
		method := c.method
		if method == "" {
			method = "GET"
		}
		r := httptest.NewRequest(method, "/?"+c.query, nil)
		r.Host = c.host
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		if got, err := guardAt(t, c.ip).check(r, map[bool]demand{true: changes}[c.change]); got != c.want {
			t.Errorf("%s: status %d (%v), want %d", c.name, got, err, c.want)
		}
	}
}

func TestTokenMovesFromTheAddressToACookie(t *testing.T) {
	g := guardAt(t, "127.0.0.1")
	for path, want := range map[string]string{
		"/runs?token=" + testToken + "&q=a":           "/runs?q=a",
		"//evil.example/?token=" + testToken:          "/evil.example/",
		"/%5C%5Cevil.example/x?token=" + testToken:    "/evil.example/x",
		"/?token=wrong-token-but-of-the-right-length": "",
	} {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8017/", nil)
		u, err := r.URL.Parse("http://127.0.0.1:8017" + path)
		if err != nil {
			t.Fatal(err)
		}
		r.URL = u
		w := httptest.NewRecorder()
		if kept := g.keep(w, r); kept != (want != "") {
			t.Errorf("%s: kept %v", path, kept)
			continue
		}
		if want == "" {
			continue
		}
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s: %d to %q, want %q", path, w.Code, got, want)
		}
		set := w.Header().Get("Set-Cookie")
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "plimsoll-8017="} {
			if !strings.Contains(set, part) {
				t.Errorf("cookie %q lacks %s", set, part)
			}
		}
	}
}

func TestListeningToOthersNeedsAToken(t *testing.T) {
	for _, ip := range []string{"0.0.0.0", "192.0.2.7", "::"} {
		addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: 80}
		if _, err := newGuard(addr, ""); err == nil {
			t.Errorf("%s: no token was needed", ip)
		}
		if _, err := newGuard(addr, "short"); err == nil {
			t.Errorf("%s: a short token was taken", ip)
		}
	}
	g, err := newGuard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(g.Address(), "/?token="+g.token) {
		t.Errorf("the address lacks the token that was made: %s", g.Address())
	}
	if own := guardAt(t, "127.0.0.1").Address(); own != "http://127.0.0.1:8017/" {
		t.Errorf("the address repeats the user's token: %s", own)
	}
	if a, b := g.token, newToken(); len(a) < 32 || a == b {
		t.Errorf("tokens %q and %q", a, b)
	}
	r := httptest.NewRequest("GET", "http://localhost/", nil)
	r.Header.Set("Origin", "http://localhost")
	if status, err := g.check(r, shows); status != 0 {
		t.Errorf("the Host header needs port 80: %v", err)
	}
}
