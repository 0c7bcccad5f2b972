package persons

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

// Loopback is reached by every user of the machine and by every web page in a browser on it. A page can send a simple
// request, or one under a name that was bound anew to 127.0.0.1, but never the token.
func TestToken(t *testing.T) {
	r, err := null.Listen(null.Options{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := Open(Options{URI: r.URI(), Database: "people", Timeout: time.Minute, Token: "right-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context()) //nolint:errcheck // the responder may be gone
	const ada = `{"firstName": "Ada", "lastName": "Byron"}`
	for _, c := range []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"no token", "POST", "/persons", nil, 401},
		{"a web page", "POST", "/persons", map[string]string{"Origin": "http://evil.example", "Content-Type": "text/plain"}, 401},
		{"a name bound anew", "GET", "/persons", map[string]string{"Host": "evil.example"}, 401},
		{"a preflight", "OPTIONS", "/persons", map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Headers": "authorization"}, 401},
		{"a wrong token", "GET", "/persons", map[string]string{"Authorization": "Bearer wrong-token"}, 401},
		{"a part of the token", "GET", "/persons", map[string]string{"Authorization": "Bearer right"}, 401},
		{"the token in the address", "GET", "/persons?token=right-token", nil, 401},
		{"health", "GET", "/healthz", nil, 401},
		{"nothing there", "GET", "/nothing", nil, 401},
		{"the token", "POST", "/persons", map[string]string{"Authorization": "Bearer right-token"}, 201},
		{"health with the token", "GET", "/healthz", map[string]string{"Authorization": "Bearer right-token"}, 200},
	} {
		req := httptest.NewRequest(c.method, c.path, strings.NewReader(ada))
		for k, v := range c.header {
			if k == "Host" {
				req.Host = v
			}
			req.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
		if c.want == http.StatusUnauthorized && strings.Contains(w.Body.String(), "right-token") {
			t.Errorf("%s: the answer has the token", c.name)
		}
	}
}
