// Package mongouri takes addresses of MongoDB apart and puts them together again, so that an option can be looked up,
// set and dropped, and one member be addressed like the whole.
//
// What an address says stays as it is written: nothing is decoded, sorted or resolved, and whether a server can be
// reached with it is the business of whoever connects. Credentials are hidden by internal/redact.
package mongouri

import (
	"errors"
	"net/url"
	"strings"
)

// Address is an address of MongoDB in its parts.
type Address struct {
	Scheme  string // "mongodb" or "mongodb+srv"
	User    string // the credentials and the '@' behind them; "" if there are none
	Hosts   string // "a:1,b:2"
	Path    string // the database, escaped
	options []string
}

// Parse takes an address apart. Its errors do not repeat the address, which may hold a password.
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
			return Address{}, errors.New("its options cannot be read")
		}
	}
	return a, nil
}

// String puts the address together.
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

// at is the place of the first option of a name, -1 if there is none. Names of options have no case.
func (a Address) at(name string) int {
	for i, o := range a.options {
		if k, _, _ := strings.Cut(o, "="); strings.EqualFold(k, name) {
			return i
		}
	}
	return -1
}

// Option returns the value of the first option that has one of the names.
func (a Address) Option(names ...string) (value string, ok bool) {
	for _, name := range names {
		if i := a.at(name); i >= 0 {
			_, value, _ = strings.Cut(a.options[i], "=")
			return value, true
		}
	}
	return "", false
}

// Set gives an option a value, in the place of the one that it has.
func (a *Address) Set(name, value string) {
	option := name + "=" + url.QueryEscape(value)
	i := a.at(name)
	if i < 0 {
		a.options = append(a.options, option)
		return
	}
	rest := a.options[i+1:]
	a.options = append(a.options[:i:i], option)
	for _, o := range rest { // the same option once more would contradict it
		if k, _, _ := strings.Cut(o, "="); !strings.EqualFold(k, name) {
			a.options = append(a.options, o)
		}
	}
}

// Drop removes options and reports whether any was there.
func (a *Address) Drop(names ...string) bool {
	dropped := false
	for _, name := range names {
		for i := a.at(name); i >= 0; i = a.at(name) {
			a.options = append(a.options[:i:i], a.options[i+1:]...)
			dropped = true
		}
	}
	return dropped
}
