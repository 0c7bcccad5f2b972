// Package redact keeps credentials out of everything that is printed or stored. It hides the secrets of addresses in
// texts, and it hides secrets that it has learned in all texts.
package redact

import (
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "***"

// AddressIn returns the index of an address of MongoDB in a word, -1 if there is none.
func AddressIn(word string) int {
	return slices.Max([]int{strings.Index(word, "mongodb://"), strings.Index(word, "mongodb+srv://")})
}

// Addresses hides the secrets of the addresses in s: passwords in the user information, authentication properties,
// options with a name of a password, secret or token, invalid ports, and invalid values of options. Everything before
// the last '@' is user information, so a password with an unescaped '/', '?' or '@' is hidden. In doubt more is hidden.
//
// If s begins with a MongoDB address, all of s is the address. Other addresses end at white space or a quotation mark.
// An address is SCHEME://…, for MongoDB also with one slash or none (as in a cleaned path), or a word of the form
// USER:PASSWORD@HOST.
func Addresses(s string) string { return addresses(s, true) }

// InText is [Addresses] for a sentence that may begin with an address.
func InText(s string) string { return addresses(s, false) }

func addresses(s string, whole bool) string {
	if !strings.Contains(s, "://") && !strings.Contains(s, "@") && !strings.Contains(strings.ToLower(s), "mongodb") {
		return s
	}
	var out strings.Builder
	for s != "" {
		a, found := nextAddress(s, whole)
		if !found {
			break
		}
		out.WriteString(redactWords(s[:a.scheme]))
		out.WriteString(s[a.scheme:a.rest])
		out.WriteString(redactAddress(s[a.rest:a.end], a.mongo))
		s, whole = s[a.end:], false
	}
	out.WriteString(redactWords(s))
	return out.String()
}

// address has the indexes of an address in a text: its scheme, the rest after the scheme, and its end.
type address struct {
	scheme, rest, end int
	mongo             bool
}

// addressEnds are the characters that end an address within a text.
const addressEnds = " \t\r\n\"'`<>"

// nextAddress finds the first address in a text. whole: a MongoDB address at the start of s has no end before that of
// s.
func nextAddress(s string, whole bool) (address, bool) {
	a := address{scheme: -1}
	for _, scheme := range [...]string{"mongodb:", "mongodb+srv:"} {
		if i := indexScheme(s, scheme); i >= 0 && (a.scheme < 0 || i < a.scheme) {
			a = address{scheme: i, rest: i + len(scheme), mongo: true}
		}
	}
	if i := strings.Index(s, "://"); i >= 0 && (a.scheme < 0 || i < a.scheme) {
		begin := strings.LastIndexAny(s[:i], addressEnds+"=,;()[]") + 1
		a = address{scheme: begin, rest: i + len("://")}
	}
	if a.scheme < 0 {
		return a, false
	}
	for a.mongo && a.rest < len(s) && s[a.rest] == '/' {
		a.rest++
	}
	a.end = len(s)
	if i := strings.IndexAny(s[a.rest:], addressEnds); i >= 0 && !(whole && a.mongo && a.scheme == 0) {
		a.end = a.rest + i
		if a.mongo {
			a.end = pastPassword(s, a)
		}
	}
	return a, true
}

// indexScheme finds a scheme in any case with an address after it. "mongodb:" in a sentence has a space after it.
func indexScheme(s, scheme string) int {
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		lower = s // s has letters whose lower case is longer; schemes have none
	}
	for from := 0; ; {
		i := strings.Index(lower[from:], scheme)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(scheme)
		if end < len(s) && !strings.ContainsRune(addressEnds, rune(s[end])) {
			return i
		}
		from = end
	}
}

// pastPassword returns the end of an address whose password has a space or a quotation mark: the part before a.end has
// no host, and a host follows in the same line.
func pastPassword(s string, a address) int {
	part := s[a.rest:a.end]
	if strings.Contains(part, "@") || redactHosts(part) == part {
		return a.end
	}
	line := s[a.end:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	if i := strings.Index(line, "://"); i >= 0 {
		line = line[:i]
	}
	at := strings.LastIndexByte(line, '@')
	if at < 0 {
		return a.end
	}
	end := a.end + at
	if i := strings.IndexAny(s[end:], addressEnds); i >= 0 {
		return end + i
	}
	return len(s)
}

// redactWords hides the passwords of words of the form USER:PASSWORD@HOST without a scheme.
func redactWords(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	var out strings.Builder
	for s != "" {
		end := strings.IndexAny(s, addressEnds)
		if end < 0 {
			end = len(s)
		}
		out.WriteString(redactWord(s[:end]))
		if end == len(s) {
			break
		}
		out.WriteByte(s[end])
		s = s[end+1:]
	}
	return out.String()
}

func redactWord(w string) string {
	at := strings.LastIndexByte(w, '@')
	colon := strings.IndexByte(w, ':')
	if colon < 0 || colon+1 >= at || at+1 == len(w) {
		return w
	}
	return w[:colon+1] + Hidden + w[at:]
}

// redactAddress hides the secrets of an address without its scheme.
func redactAddress(s string, mongo bool) string {
	user := ""
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		user, s = s[:i], s[i:]
		if j := strings.IndexByte(user, ':'); j >= 0 {
			user = user[:j+1] + Hidden
		}
	}
	hosts, options, found := strings.Cut(s, "?")
	if mongo {
		hosts = redactHosts(hosts)
	}
	if !found {
		return user + hosts
	}
	return user + hosts + "?" + redactOptions(options, mongo)
}

// redactHosts hides invalid ports.
func redactHosts(s string) string {
	hosts, path, _ := strings.Cut(s, "/")
	list := strings.Split(hosts, ",")
	for i, h := range list {
		name, port := h, ""
		if j := strings.LastIndexByte(h, ':'); j > strings.LastIndexByte(h, ']') {
			name, port = h[:j], h[j+1:]
		}
		digits := strings.TrimPrefix(strings.ToLower(port), "port")
		if strings.Trim(digits, "0123456789") != "" && port != Hidden {
			list[i] = name + ":" + Hidden
		}
	}
	return strings.Join(list, ",") + s[len(hosts):len(s)-len(path)] + path
}

// redactOptions hides the values of secret options in key=value pairs.
func redactOptions(s string, mongo bool) string {
	var out strings.Builder
	for s != "" {
		end := strings.IndexAny(s, "&;")
		pair := s
		if end >= 0 {
			pair = s[:end]
		}
		if key, value, ok := strings.Cut(pair, "="); ok && (SecretName(key) || mongo && !ordinaryOption(key, value)) {
			pair = key + "=" + Hidden
		}
		out.WriteString(pair)
		if end < 0 {
			break
		}
		out.WriteByte(s[end])
		s = s[end+1:]
	}
	return out.String()
}

// freeOptions are the options of MongoDB addresses whose values are arbitrary names.
var freeOptions = []string{
	"replicaset", "authsource", "appname", "w", "readconcernlevel", "readpreference", "readpreferencetags", "compressors",
	"compressor", "connect", "gssapiservicename", "srvservicename", "proxyhost", "servermonitoringmode", "option",
	"tlscafile", "tlscertificatekeyfile", "tlscertificatefile", "tlsprivatekeyfile", "tlscrlfile",
	"sslcertificateauthorityfile", "sslclientcertificatekeyfile",
}

// mechanisms are the values of authMechanism.
var mechanisms = []string{
	"DEFAULT", "SCRAM-SHA-1", "SCRAM-SHA-256", "MONGODB-X509", "MONGODB-CR", "MONGODB-AWS", "MONGODB-OIDC", "GSSAPI", "PLAIN",
}

// ordinaryOption reports whether the value of an option of a MongoDB address can be shown: a number, true or false, or
// the name of an option with names.
func ordinaryOption(key, value string) bool {
	key = strings.ToLower(key)
	if slices.Contains(freeOptions, key) ||
		key == "authmechanism" && slices.Contains(mechanisms, strings.ToUpper(value)) {
		return true
	}
	switch strings.ToLower(value) {
	case "true", "false", "":
		return true
	}
	return strings.Trim(value, "0123456789") == ""
}
