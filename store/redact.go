package store

import "strings"

// hidden stands where a secret was.
const hidden = "***"

// Redact returns s without the secrets of the mongodb:// and mongodb+srv:// addresses in it: passwords
// in the user information, authentication properties, and every option whose name speaks of a
// password, secret or token. Whatever stands before the last '@' is taken for user information, so a
// password with an unescaped '/', '?' or '@' does not slip through; where in doubt, more is hidden.
//
// If s begins with such an address the whole of s is taken for it. Inside a longer text an address
// ends at white space or a quotation mark.
func Redact(s string) string {
	var out strings.Builder
	for {
		at, scheme := findScheme(s)
		if at < 0 {
			out.WriteString(s)
			return out.String()
		}
		rest := s[at+scheme:]
		end := len(rest)
		if at > 0 || out.Len() > 0 {
			if i := strings.IndexAny(rest, " \t\r\n\"'`<>"); i >= 0 {
				end = i
			}
		}
		out.WriteString(s[:at+scheme])
		out.WriteString(redactAddress(rest[:end]))
		s = rest[end:]
	}
}

// findScheme finds the first scheme in s: where it begins and how long it is.
func findScheme(s string) (at, length int) {
	at = -1
	low := strings.ToLower(s)
	if len(low) != len(s) { // a letter that changes its length: no offsets to rely on
		low = s
	}
	for _, scheme := range [...]string{"mongodb://", "mongodb+srv://"} {
		if i := strings.Index(low, scheme); i >= 0 && (at < 0 || i < at) {
			at, length = i, len(scheme)
		}
	}
	return at, length
}

// redactAddress hides the secrets of what follows the scheme.
func redactAddress(s string) string {
	user := ""
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		user, s = s[:i], s[i:]
		if j := strings.IndexByte(user, ':'); j >= 0 {
			user = user[:j+1] + hidden
		}
	}
	i := strings.IndexByte(s, '?')
	if i < 0 {
		return user + s
	}
	return user + s[:i+1] + redactOptions(s[i+1:])
}

// redactOptions hides the values of secret options in key=value pairs.
func redactOptions(s string) string {
	var out strings.Builder
	for s != "" {
		end := strings.IndexAny(s, "&;")
		pair := s
		if end >= 0 {
			pair = s[:end]
		}
		if key, _, ok := strings.Cut(pair, "="); ok && secretOption(key) {
			pair = key + "=" + hidden
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

func secretOption(key string) bool {
	key = strings.ToLower(key)
	for _, word := range [...]string{"password", "secret", "token", "authmechanismproperties"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// maxLine is the most bytes of an error's text that [OneLine] keeps.
const maxLine = 400

// OneLine makes the text of an error fit for [Result.Message] and for records: one line, without
// credentials, of bounded length.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(Redact(strings.ToValidUTF8(text, "?"))), " ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
