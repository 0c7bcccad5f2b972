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
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Guard decides which requests are allowed. Every page in the user's browser can reach a page on loopback, so loopback
// alone is no protection:
//
//   - the Host header must name an address that we listen on, which a name that was bound anew to 127.0.0.1 does not;
//   - requests that another site caused are refused;
//   - labs need the token, because every user of the machine reaches loopback and a lab belongs to one of them;
//   - whatever changes something needs the token, a POST, and an origin that is ours;
//   - beyond loopback, and where a name was given, everything needs the token.
//
// The token comes in the address that is printed at the start and is then kept in a cookie that scripts cannot read and
// other sites do not send.
type Guard struct {
	token string
	// addr is the address of the listener: HOST:PORT.
	addr string
	// hosts are the values of the Host header that are ours, origins those of the Origin header.
	hosts, origins []string
	// main is the origin that is printed.
	main string
	// tls is true if a proxy with TLS is in front of the page.
	tls bool
	// open is true where reading needs no token: on loopback, unless a proxy opens it to others.
	open bool
	// own is true for a token that the user chose, which is a secret that no output repeats.
	own bool
}

// tokenBytes make a token that cannot be guessed: 192 bits.
const tokenBytes = 24

// minToken is the shortest token that a user may choose.
const minToken = 16

// cookieName is the cookie with the token. It has the port in it because cookies are shared between ports.
func (g *Guard) cookieName() string {
	_, port, _ := net.SplitHostPort(g.addr)
	return "plimsoll-" + port
}

// newToken makes a random token.
func newToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails, says its documentation
	return base64.RawURLEncoding.EncodeToString(b)
}

// newGuard makes the guard of a listener. An empty token is replaced by a new one on loopback. Otherwise, and if names
// are given, the user must choose one, so that nobody opens a page to a network by accident. names are other origins of
// the page, as browsers write them: https://NAME is a proxy with TLS, http://NAME:PORT is this machine by another name.
func newGuard(addr net.Addr, token string, names ...string) (*Guard, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%s is not a TCP address", addr)
	}
	g := &Guard{token: token, own: token != "", addr: tcp.String(), open: tcp.IP.IsLoopback() && len(names) == 0}
	for _, n := range names {
		u, err := originOf(n)
		if err != nil {
			return nil, err
		}
		g.tls = g.tls || u.Scheme == "https"
		g.add(u.Scheme, u.Host)
	}
	switch {
	case token == "" && !tcp.IP.IsLoopback():
		return nil, fmt.Errorf("%s can be reached from other machines, so it needs a token: give one, or listen on 127.0.0.1", addr)
	case token == "" && !g.open:
		return nil, fmt.Errorf("%s can be reached by others, so it needs a token of your own", names[0])
	case token == "":
		g.token = newToken()
	case len(token) < minToken:
		return nil, fmt.Errorf("the token has %d characters: choose one of at least %d", len(token), minToken)
	}
	var direct []string
	if tcp.IP.IsUnspecified() {
		direct = machineNames()
	} else {
		direct = []string{tcp.IP.String()}
	}
	if tcp.IP.IsLoopback() || tcp.IP.IsUnspecified() {
		direct = append(direct, "localhost", "127.0.0.1", "::1")
	}
	for _, n := range direct {
		g.add("http", net.JoinHostPort(n, fmt.Sprint(tcp.Port)))
	}
	g.main = g.origins[0]
	return g, nil
}

// add makes an origin ours. Browsers leave out the port that is usual for the scheme.
func (g *Guard) add(scheme, host string) {
	host = strings.ToLower(host)
	usual := ":" + map[string]string{"http": "80", "https": "443"}[scheme]
	short := strings.TrimSuffix(host, usual)
	g.hosts = append(g.hosts, short)
	g.origins = append(g.origins, scheme+"://"+short)
	if u := (&url.URL{Host: short}); u.Port() == "" {
		g.hosts = append(g.hosts, short+usual)
	}
}

// hostName is a DNS name or an IPv4 address.
var hostName = expression.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// originOf reads a name: a scheme, a host and perhaps a port, as in the address bar of a browser.
func originOf(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	wrong := fmt.Errorf("%q is not an address of this page: write https://NAME for a proxy with TLS, or http://NAME:PORT", name)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, wrong
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if u.String() != u.Scheme+"://"+u.Host {
		return nil, wrong
	}
	if !hostName().MatchString(u.Hostname()) && net.ParseIP(u.Hostname()) == nil {
		return nil, wrong
	}
	if _, port, found := strings.Cut(strings.TrimPrefix(u.Host, "["+u.Hostname()+"]"), ":"); found {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, wrong
		}
	}
	return u, nil
}

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
		return g.main + "/"
	}
	return g.main + "/?token=" + url.QueryEscape(g.token)
}

// The reasons for which a request is refused. None has more details.
var (
	errHost   = errors.New("this page is not served under that name")
	errOrigin = errors.New("requests from other sites are refused")
	errToken  = errors.New("this needs the token: open the address that plimsoll printed when it started, with ?token= and the token if you chose it")
	errMethod = errors.New("this method is not allowed here")
)

// demand is what an address requires of a request.
type demand int

const (
	shows    demand = iota // shows records
	showsLab               // shows what belongs to the user who made it
	changes                // does something
)

func (g *Guard) check(r *http.Request, d demand) (status int, err error) {
	if !slices.Contains(g.hosts, strings.ToLower(r.Host)) {
		return http.StatusMisdirectedRequest, errHost
	}
	if !g.sameSite(r, d == changes) {
		return http.StatusForbidden, errOrigin
	}
	switch {
	case d == changes && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, errMethod
	case d != changes && r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, errMethod
	case (d != shows || !g.open) && !g.known(r):
		return http.StatusUnauthorized, errToken
	}
	return 0, nil
}

// sameSite reports whether a request comes from our own page or from the user. Browsers send Sec-Fetch-Site; if it is
// missing, the Origin decides; requests with neither are not from browsers. The top page may be opened from links
// anywhere, such as from a terminal, a mail or a chat, because that only shows it.
func (g *Guard) sameSite(r *http.Request, change bool) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		if !slices.Contains(g.origins, strings.ToLower(origin)) {
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
		Name: g.cookieName(), Value: g.token, Path: "/", HttpOnly: true, Secure: g.tls, SameSite: http.SameSiteStrictMode,
	})
	q.Del("token")
	to := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	// A path that begins with two slashes would be another host.
	to.Path = "/" + strings.TrimLeft(to.Path, "/\\")
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// policy is the content policy of our pages: only scripts with their own nonce may run.
func policy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce + "'; img-src data:; " +
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// headers sets the headers of all answers. The referrer is kept within the site. Without any, browsers would send the
// origin "null" with forms, which could be that of any site.
func headers(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// maxToken bounds a token, which has to fit into the header of a request.
const maxToken = 4 << 10

// ReadToken reads the token that a user keeps in a file: one line of at least 16 characters without spaces, in a
// regular file that only its user can read. The error says what is wrong with the file and never what is in it.
func ReadToken(name string) (string, error) {
	text, err := safeopen.ReadSecret(name)
	if len(text) > maxToken || errors.As(err, new(*safeopen.LimitError)) {
		return "", fmt.Errorf("the token file %s has more than %d bytes: write one line of random characters into it", name, maxToken)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	token := strings.TrimRight(text, "\r\n")
	if len(token) < minToken {
		return "", fmt.Errorf("the token file %s has %d characters: write one line of at least %d random characters into it", name, len(token), minToken)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return "", fmt.Errorf("the token file %s has more than one line, or spaces or other special characters in it: "+
				"write one line of random letters and digits into it", name)
		}
	}
	return token, nil
}
