package store

import "strings"

// hidden stands where a secret was.
const hidden = "***"

// Redact returns s without the secrets of the addresses (SCHEME://…) in it: passwords in the user
// information, authentication properties, and every option whose name speaks of a password, secret or
// token. Whatever stands before the last '@' is taken for user information, so a password with an
// unescaped '/', '?' or '@' does not slip through; where in doubt, more is hidden.
//
// If s begins with a MongoDB address the whole of s is taken for it. Otherwise an address ends at white
// space or a quotation mark.
func Redact(s string) string {
	var out strings.Builder
	for first := true; ; first = false {
		at := strings.Index(s, "://")
		if at < 0 {
			out.WriteString(s)
			return out.String()
		}
		at += len("://")
		rest := s[at:]
		end := strings.IndexAny(rest, " \t\r\n\"'`<>")
		if end < 0 || first && isMongo(s[:at]) {
			end = len(rest)
		}
		out.WriteString(s[:at])
		out.WriteString(redactAddress(rest[:end]))
		s = rest[end:]
	}
}

func isMongo(scheme string) bool {
	return strings.EqualFold(scheme, "mongodb://") || strings.EqualFold(scheme, "mongodb+srv://")
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
