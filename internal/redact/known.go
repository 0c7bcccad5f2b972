package redact

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shortest is the length of the shortest secret that is hidden in other texts. Replacing shorter ones would destroy the
// texts and reveal the secret.
const shortest = 3

// Known has learned secrets, which it hides in all texts. The zero value has none.
type Known struct{ list []string }

func (k *Known) Empty() bool { return len(k.list) == 0 }

// Learn adds the secrets of the addresses in a text.
func (k *Known) Learn(text string) {
	for whole := true; ; whole = false {
		a, found := nextAddress(text, whole)
		if !found {
			return
		}
		k.learnAddress(text[a.rest:a.end], a.mongo)
		text = text[a.end:]
	}
}

// LearnCommand adds the secrets in the words of a command: --password VALUE, --token=VALUE, and -P of ipmitool.
func (k *Known) LearnCommand(words []string) {
	for i, w := range words {
		k.Learn(w)
		name, value, inside := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if !inside && i+1 < len(words) {
			value = words[i+1]
		}
		secret := SecretName(name) || w == "-P" && path.Base(words[0]) == "ipmitool"
		if strings.HasPrefix(w, "-") && secret && value != "" {
			k.Add(value)
		}
	}
}

func (k *Known) learnAddress(s string, mongo bool) {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		if _, password, ok := strings.Cut(s[:i], ":"); ok {
			k.Add(password)
		}
		s = s[i+1:]
	}
	hosts, options, _ := strings.Cut(s, "?")
	hosts, _, _ = strings.Cut(hosts, "/")
	for h := range strings.SplitSeq(hosts, ",") {
		if mongo && redactHosts(h) != h {
			k.Add(h[strings.LastIndexByte(h, ':')+1:])
		}
	}
	for pair := range strings.FieldsFuncSeq(options, func(r rune) bool { return r == '&' || r == ';' }) {
		if _, value, ok := strings.Cut(pair, "="); ok && redactOptions(pair, mongo) != pair {
			k.Add(value)
		}
	}
}

// Add adds a secret as it is written, and its forms without escapes, in quotation marks and in a path.
func (k *Known) Add(secret string) {
	forms := []string{secret}
	if plain, err := url.PathUnescape(secret); err == nil {
		forms = append(forms, plain, url.QueryEscape(plain), url.PathEscape(plain))
	}
	for _, s := range slices.Clone(forms) {
		forms = append(forms, path.Clean(s), strings.Trim(strconv.Quote(s), `"`))
	}
	for _, s := range forms {
		if len(s) >= shortest && s != Hidden && !slices.Contains(k.list, s) {
			k.list = append(k.list, s)
		}
	}
	slices.SortFunc(k.list, func(a, b string) int { return len(b) - len(a) }) // the longest first
}

// Hide hides the known secrets in s. See [Addresses] for those of addresses in s.
func (k *Known) Hide(s string) string {
	for _, secret := range k.list {
		if ordinary(secret) {
			s = replaceWord(s, secret)
			continue
		}
		s = strings.ReplaceAll(s, secret, Hidden)
	}
	return s
}

// longestOrdinary is the length of passwords of letters and digits that can be a part of other words and numbers, such
// as "run", "trial" or "2026".
const longestOrdinary = 7

// ordinary reports whether a secret is hidden only as a separate word.
func ordinary(secret string) bool {
	return len(secret) <= longestOrdinary && !strings.ContainsFunc(secret, func(c rune) bool {
		return c >= utf8.RuneSelf || !wordy(byte(c))
	})
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// replaceWord hides a separate word.
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
		out.WriteString(Hidden)
		at, from = end, end
	}
	out.WriteString(s[at:])
	return out.String()
}
