package record

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// hidden stands where a credential was.
const hidden = "***"

// shortestSecret is the length from which a password is looked for in other texts as well. Replacing
// shorter ones would destroy the texts and give away the password by what is missing.
const shortestSecret = 3

// redactor keeps credentials out of everything that is written. It removes them from addresses
// wherever these appear, and removes the passwords it knows from every text.
type redactor struct{ secrets []string }

// learn takes the credentials of an address or of parameters into account.
func (r *redactor) learn(spec RunSpec) {
	for _, s := range append(addressesOf(spec), spec.Target) {
		for _, a := range addresses(s) {
			_, user, _ := splitAddress(s[a.start:a.end])
			if _, password, ok := strings.Cut(user, ":"); ok {
				r.add(password)
			}
		}
	}
	for k, v := range spec.Workload.Params {
		if secretName(k) {
			r.add(v)
		}
	}
}

func addressesOf(spec RunSpec) []string {
	return append(slices.Collect(maps.Values(spec.Workload.Params)), slices.Collect(maps.Values(spec.Labels))...)
}

// add remembers a secret as it is written and as it is meant.
func (r *redactor) add(secret string) {
	forms := []string{secret}
	if plain, err := url.PathUnescape(secret); err == nil {
		forms = append(forms, plain, url.QueryEscape(plain), url.PathEscape(plain))
	}
	for _, s := range forms {
		if len(s) >= shortestSecret && s != hidden && !slices.Contains(r.secrets, s) {
			r.secrets = append(r.secrets, s)
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) }) // the longest first
}

// text returns s without credentials.
func (r *redactor) text(s string) string {
	if s == "" {
		return s
	}
	s = redactAddresses(s)
	for _, secret := range r.secrets {
		if ordinary(secret) {
			s = replaceWord(s, secret)
			continue
		}
		s = strings.ReplaceAll(s, secret, hidden)
	}
	return s
}

// longestOrdinary is the length up to which a password of nothing but letters and digits may well be a part of
// other words and of numbers, such as "run", "trial" or "2026".
const longestOrdinary = 7

// ordinary reports whether a secret is only looked for as a word by itself.
func ordinary(secret string) bool {
	return len(secret) <= longestOrdinary && !strings.ContainsFunc(secret, func(c rune) bool { return c >= utf8.RuneSelf || !wordy(byte(c)) })
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// replaceWord hides a word where it stands by itself.
func replaceWord(s, word string) string {
	var out strings.Builder
	at := 0
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(word)
		from = start + 1
		if start > 0 && wordy(s[start-1]) || end < len(s) && wordy(s[end]) {
			continue
		}
		out.WriteString(s[at:start])
		out.WriteString(hidden)
		at, from = end, end
	}
	out.WriteString(s[at:])
	return out.String()
}

// source returns the name of a source of samples without credentials; what kind it is stays.
func (r *redactor) source(s string) string {
	kind, name, ok := strings.Cut(s, ":")
	if !ok {
		return redactAddresses(s)
	}
	return kind + ":" + r.text(name)
}

// address is where in a text an address of a deployment stands.
type address struct{ start, end int }

// addresses finds the addresses in a text. One that begins the text is taken to be the whole of it,
// because a password may contain anything; others end at white space or a quotation mark.
func addresses(s string) []address {
	var found []address
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		lower = s
	}
	for at := 0; at < len(s); {
		i := strings.Index(lower[at:], "mongodb")
		if i < 0 {
			break
		}
		start := at + i
		at = start + len("mongodb")
		if !strings.HasPrefix(lower[at:], "://") && !strings.HasPrefix(lower[at:], "+srv://") {
			continue
		}
		end := len(s)
		if j := strings.IndexAny(s[start:], " \t\r\n\"'`<>"); j >= 0 && start > 0 {
			end = start + j
		}
		found = append(found, address{start, end})
		at = end
	}
	return found
}

// splitAddress splits an address into scheme, user information (whatever is before the last @) and rest.
func splitAddress(s string) (scheme, user, rest string) {
	i := strings.Index(s, "://") + len("://")
	scheme, rest = s[:i], s[i:]
	if j := strings.LastIndexByte(rest, '@'); j >= 0 {
		user, rest = rest[:j], rest[j:]
	}
	return scheme, user, rest
}

func redactAddresses(s string) string {
	var out strings.Builder
	at := 0
	for _, a := range addresses(s) {
		out.WriteString(s[at:a.start])
		out.WriteString(redactAddress(s[a.start:a.end]))
		at = a.end
	}
	out.WriteString(s[at:])
	return out.String()
}

func redactAddress(s string) string {
	scheme, user, rest := splitAddress(s)
	if name, _, ok := strings.Cut(user, ":"); ok {
		user = name + ":" + hidden
	}
	path, query, ok := strings.Cut(rest, "?")
	if !ok {
		return scheme + user + rest
	}
	options := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, o := range options {
		if name, _, ok := strings.Cut(o, "="); ok && secretName(name) {
			options[i] = name + "=" + hidden
		}
	}
	return scheme + user + path + "?" + strings.Join(options, "&")
}

// secretName reports whether something with this name is a credential.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"password", "passwd", "secret", "token", "credential", "authmechanismproperties", "apikey", "api_key"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func (r *redactor) values(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		if out[k] = r.text(v); secretName(k) && v != "" {
			out[k] = hidden
		}
	}
	return out
}

func (r *redactor) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = r.text(out[i])
	}
	return out
}

func (r *redactor) spec(s RunSpec) RunSpec {
	// A directory and a database are what is told apart by them, whatever words they share with a password.
	s.Target, s.Out, s.Database = r.text(s.Target), redactAddresses(s.Out), redactAddresses(s.Database)
	s.Workload.Params, s.Labels = r.values(s.Workload.Params), r.values(s.Labels)
	return s
}

func (r *redactor) target(t Target) Target {
	t.Address, t.Hosts, t.Notes = r.text(t.Address), r.texts(t.Hosts), r.texts(t.Notes)
	t.Settings = r.values(t.Settings)
	return t
}

func (r *redactor) failures(list []measure.FailureCount) []measure.FailureCount {
	out := slices.Clone(list)
	for i := range out {
		out[i].Example = r.text(out[i].Example)
	}
	return out
}

func (r *redactor) event(e measure.Event) measure.Event {
	e.Text, e.Data = r.text(e.Text), r.values(e.Data)
	return e
}

func (r *redactor) findings(list []measure.Finding) []measure.Finding {
	out := append([]measure.Finding{}, list...)
	for i := range out {
		out[i].Text = r.text(out[i].Text)
	}
	return out
}
