// Package mongouri parses addresses of MongoDB and writes them again, to read, set and remove options, or to address
// one member with the options of the set. It has the table of all options.
//
// The parts of an address stay as they are written: nothing is decoded, sorted or resolved. internal/redact hides
// credentials.
package mongouri

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Address is a parsed address of MongoDB.
type Address struct {
	Scheme  string // "mongodb" or "mongodb+srv"
	User    string // the credentials and the '@' after them; "" if there are none
	Hosts   string // "a:1,b:2"
	Path    string // the database, escaped
	options []string
}

// Parse parses an address. Its errors do not contain the address, which may have a password.
func Parse(text string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "mongodb" && scheme != "mongodb+srv" {
		return Address{}, errors.New("it does not begin with mongodb:// or mongodb+srv://")
	}
	a := Address{Scheme: scheme}
	rest, options, _ := strings.Cut(rest, "?")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		a.User, rest = rest[:i+1], rest[i+1:]
	}
	a.Hosts, a.Path, _ = strings.Cut(rest, "/")
	a.options = strings.FieldsFunc(options, func(r rune) bool { return r == '&' || r == ';' })
	for _, o := range a.options {
		if _, err := url.QueryUnescape(o); err != nil {
			return Address{}, errors.New("its options are not URL-encoded")
		}
	}
	return a, nil
}

func (a Address) String() string {
	text := a.Scheme + "://" + a.User + a.Hosts + "/" + a.Path
	if len(a.options) > 0 {
		text += "?" + strings.Join(a.options, "&")
	}
	return text
}

// Database is the name of the database, "" if there is none.
func (a Address) Database() string {
	if name, err := url.PathUnescape(a.Path); err == nil {
		return name
	}
	return a.Path
}

// at is the index of the first option of a name, -1 if there is none.
func (a Address) at(name string) int {
	return slices.IndexFunc(a.options, func(o string) bool { return isOption(o, name) })
}

// isOption reports whether an option has a name. Case does not matter.
func isOption(option, name string) bool {
	k, _, _ := strings.Cut(option, "=")
	return strings.EqualFold(k, name)
}

// Option returns the value of the first option with one of the names.
func (a Address) Option(names ...string) (value string, ok bool) {
	for _, name := range names {
		if i := a.at(name); i >= 0 {
			_, value, _ = strings.Cut(a.options[i], "=")
			return value, true
		}
	}
	return "", false
}

// Set replaces all options of a name by one, at the index of the first one, or appends it.
func (a *Address) Set(name, value string) {
	at := a.at(name)
	a.Drop(name)
	if at < 0 {
		at = len(a.options)
	}
	a.options = slices.Insert(a.options, at, name+"="+url.QueryEscape(value))
}

// Drop removes options and reports whether there were any.
func (a *Address) Drop(names ...string) bool {
	// A copy, because other addresses may share the options.
	kept := slices.DeleteFunc(slices.Clone(a.options), func(o string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return isOption(o, name) })
	})
	dropped := len(kept) < len(a.options)
	a.options = kept
	return dropped
}

// Member is the address of one member of a deployment, with the credentials and options of the deployment.
func (a Address) Member(host string) Address {
	a.Drop("replicaSet", "loadBalanced", "srvMaxHosts", "srvServiceName")
	if a.Scheme == "mongodb+srv" { // it implies TLS and, by its TXT record in practice, authSource=admin
		if _, said := a.Option("tls", "ssl"); !said {
			a.Set("tls", "true")
		}
		if _, said := a.Option("authSource", "authMechanism"); !said && a.User != "" {
			a.Set("authSource", "admin")
		}
	}
	a.Scheme, a.Hosts = "mongodb", host
	a.Set("directConnection", "true")
	return a
}

// WithPort is a host of an address with MongoDB's port, if it has none. A socket has no port.
func WithPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil || strings.HasSuffix(host, ".sock") {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "27017")
}
