package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

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
