package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Guard decides who may see and do what. A page on loopback can be reached by every page that the user's browser has
// open, so being on loopback is no protection by itself:
//
//   - the Host header must name an address that we listen on, which a name that was bound anew to 127.0.0.1 does not;
//   - requests that another site caused are refused;
//   - whatever changes something needs the token, a POST, and an origin that is ours;
//   - beyond loopback everything needs the token.
//
// The token comes in the address that is printed at the start and is then kept in a cookie that scripts cannot read
// and other sites do not send, so that it does not stay in the address.
type Guard struct {
	token string
	// hosts are the values of the Host header that are ours.
	hosts []string
	// open is true where reading needs no token: on loopback.
	open bool
	// own is true for a token that the user chose, which is a secret that no output repeats.
	own bool
}

// tokenBytes make a token that cannot be guessed: 192 bits.
const tokenBytes = 24

// minToken is the shortest token that a user may choose.
const minToken = 16

// cookieName is the cookie with the token. The port is part of it, since cookies do not tell ports apart.
func (g *Guard) cookieName() string {
	_, port, _ := net.SplitHostPort(g.hosts[0])
	return "plimsoll-" + port
}

// NewToken makes a token.
func NewToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails, says its documentation
	return base64.RawURLEncoding.EncodeToString(b)
}

// NewGuard makes the guard of a listener. An empty token is replaced by a new one on loopback; beyond it the user must
// choose one, so that nobody opens a port to a network without thinking of it. names are further names under which
// the page is reached, for example behind a proxy.
func NewGuard(addr net.Addr, token string, names ...string) (*Guard, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%s is not a TCP address", addr)
	}
	g := &Guard{token: token, own: token != "", open: tcp.IP.IsLoopback()}
	if token == "" && !g.open {
		return nil, fmt.Errorf("%s can be reached from other machines, so it needs a token: give one, or listen on 127.0.0.1", addr)
	}
	if token == "" {
		g.token = NewToken()
	}
	if len(g.token) < minToken {
		return nil, fmt.Errorf("the token has %d characters: choose one of at least %d", len(g.token), minToken)
	}
	port := fmt.Sprint(tcp.Port)
	if tcp.IP.IsUnspecified() {
		names = append(names, machineNames()...)
	} else {
		g.hosts = append(g.hosts, net.JoinHostPort(tcp.IP.String(), port))
	}
	if g.open || tcp.IP.IsUnspecified() {
		names = append(names, "localhost", "127.0.0.1", "::1")
	}
	for _, n := range names {
		if _, _, err := net.SplitHostPort(n); err != nil {
			n = net.JoinHostPort(n, port)
		}
		g.hosts = append(g.hosts, strings.ToLower(n))
	}
	return g, nil
}

// machineNames are the addresses of this machine.
func machineNames() []string {
	var names []string
	addrs, _ := net.InterfaceAddrs() // without them, only the names that were given are allowed
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			names = append(names, n.IP.String())
		}
	}
	return names
}

// Address is the address to open, with the token in it if it was made here.
func (g *Guard) Address() string {
	if g.own {
		return "http://" + g.hosts[0] + "/"
	}
	return "http://" + g.hosts[0] + "/?token=" + url.QueryEscape(g.token)
}

// The reasons for which a request is refused. None tells more than that.
var (
	errHost   = errors.New("this page is not served under that name")
	errOrigin = errors.New("requests from other sites are refused")
	errToken  = errors.New("this needs the token: open the address that plimsoll printed when it started, with ?token= and the token if you chose it")
	errMethod = errors.New("this method is not allowed here")
)

// check decides about a request. change is true for one that does something.
func (g *Guard) check(r *http.Request, change bool) (status int, err error) {
	if !g.ours(r.Host) {
		return http.StatusMisdirectedRequest, errHost
	}
	if !g.sameSite(r, change) {
		return http.StatusForbidden, errOrigin
	}
	switch {
	case change && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, errMethod
	case !change && r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, errMethod
	case (change || !g.open) && !g.known(r):
		return http.StatusUnauthorized, errToken
	}
	return 0, nil
}

// ours says whether a Host header is ours. Port 80 may be left out.
func (g *Guard) ours(host string) bool {
	host = strings.ToLower(host)
	return slices.Contains(g.hosts, host) || slices.Contains(g.hosts, host+":80")
}

// sameSite says whether our own page, or the user's own hand, caused a request. Browsers say so in Sec-Fetch-Site;
// where they do not, the Origin decides, and what is neither a browser nor says anything is no browser. The top page
// may be opened from a link anywhere, as from a terminal, a mail or a chat: that only shows it.
func (g *Guard) sameSite(r *http.Request, change bool) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !g.ours(u.Host) {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	case "cross-site", "same-site":
		return !change && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	return false
}

// known says whether a request brings the token: in the cookie, as a bearer token, or in the address.
func (g *Guard) known(r *http.Request) bool {
	if c, err := r.Cookie(g.cookieName()); err == nil && g.same(c.Value) {
		return true
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && g.same(bearer) {
		return true
	}
	return g.same(r.URL.Query().Get("token"))
}

func (g *Guard) same(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}

// keep moves a token from the address into the cookie, and says whether it did: the answer is then complete.
func (g *Guard) keep(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if r.Method != http.MethodGet || !q.Has("token") || !g.same(q.Get("token")) {
		return false
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	q.Del("token")
	to := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	// A path that begins with two slashes would be another host.
	to.Path = "/" + strings.TrimLeft(to.Path, "/\\")
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// policy is what a page of ours may do: nothing but what its own nonce allows.
func policy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce + "'; img-src data:; " +
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// headers are those of every answer. The referrer is kept within the site: with none at all, browsers send the origin
// "null" with forms, and ours could not be told from another's.
func headers(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
