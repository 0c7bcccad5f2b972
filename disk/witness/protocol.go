// Package witness tests durability with another machine (grade D): a witness on that machine stores the numbers of
// acknowledged records. You cut the power of the machine that writes the records. Afterwards every number of the
// witness must be on the storage.
//
// The protocol is lines of text over TCP, ended by a line feed; numbers are decimal:
//
//	writer:  plimsoll-witness 1 SESSION    name of the test: at most 64 letters, digits, . _ -
//	witness: ok HIGHEST                    the highest number of the session, 0 for none
//	writer:  N                             record N is durable; N grows by one each time
//	witness: N                             N is stored
//	writer:  ?                             requests the highest number
//	witness: HIGHEST
//	witness: error TEXT                    and it closes the connection
//
// The writer sends N after the storage has acknowledged record N, and writes N+1 only after the witness has confirmed
// N. So the storage must have every number of the witness, and may have one more.
package witness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

const version = 1

// maxLine is the longest line of the protocol.
const maxLine = 256

var sessionName = expression.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckSession checks the name of a session.
func CheckSession(name string) error {
	if !sessionName().MatchString(name) {
		return fmt.Errorf("invalid session name %q: use at most 64 letters, digits, points, dashes and underscores", name)
	}
	return nil
}

// readLine reads a line without its end. A long line is an error, so that a client cannot fill the memory.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine:
		return "", fmt.Errorf("a line is longer than %d bytes", maxLine)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return "", io.ErrUnexpectedEOF
	case err != nil:
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
}

// parseHello reads the first line of a writer.
func parseHello(line string) (session string, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != 3 || fields[0] != "plimsoll-witness" {
		return "", errors.New("the client is not plimsoll disk")
	}
	if fields[1] != strconv.Itoa(version) {
		return "", fmt.Errorf("the client has version %.20q of the protocol and the witness %d: use the same plimsoll on both machines",
			fields[1], version)
	}
	return fields[2], CheckSession(fields[2])
}

func parseNumber(line string) (int64, error) {
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != line {
		return 0, fmt.Errorf("%.40q is not the number of a record", line)
	}
	return n, nil
}
