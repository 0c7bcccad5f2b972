package redact

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// secretWords name a credential as a word of a name, such as DB_PASSWORD or authToken, or at the end of a word, such as
// PGPASSWORD.
var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "authmechanismproperties"}

// secretPairs are neighbouring words that name a credential together.
var secretPairs = [][2]string{{"api", "key"}, {"private", "key"}, {"mechanism", "properties"}}

// SecretName reports whether a name is that of a credential. See [SecretVariable] for variables of the environment.
func SecretName(name string) bool {
	list := words(name)
	for i, word := range list {
		if word == "pwd" || i > 0 && slices.Contains(secretPairs, [2]string{list[i-1], word}) {
			return true
		}
		word = strings.TrimSuffix(word, "s")
		if slices.ContainsFunc(secretWords, func(secret string) bool {
			return strings.HasSuffix(word, strings.TrimSuffix(secret, "s"))
		}) {
			return true
		}
	}
	return false
}

// SecretVariable reports whether a variable of the environment has a credential. PWD and OLDPWD are the directories of
// the shell (POSIX), which are absolute.
func SecretVariable(name, value string) bool {
	if name == "PWD" || name == "OLDPWD" {
		return !filepath.IsAbs(value)
	}
	return SecretName(name)
}

// words returns the words of a name in lower case: what stands between other characters, and at a change from small to
// large letters.
func words(name string) []string {
	var spaced strings.Builder
	var last rune
	for _, c := range name {
		if unicode.IsUpper(c) && unicode.IsLower(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(c))
		last = c
	}
	return strings.FieldsFunc(spaced.String(), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// named finds named credentials with their values in connection strings, settings and JSON.
var named = expression.New(`(?i)([a-z0-9_.-]*(?:pwd|api_key|` + strings.Join(secretWords, "|") +
	`))(["\\]*\s*[=:]\s*)('[^']*'|\\?"[^"]*"|[^\s"'\\&,;{}]+)`)

// addressed finds the passwords of addresses of any kind.
var addressed = expression.New(`(?i)([a-z][a-z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']+(@)`)

// Named hides the named credentials in a line of another program's log.
func Named(line string) string {
	line = addressed().ReplaceAllString(line, "${1}"+Hidden+"${2}")
	return named().ReplaceAllStringFunc(line, func(found string) string {
		m := named().FindStringSubmatch(found)
		if !SecretVariable(m[1], m[3]) {
			return found
		}
		return m[1] + m[2] + Hidden
	})
}
