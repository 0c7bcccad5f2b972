package witness

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
)

// patience bounds an answer of the witness.
const patience = 30 * time.Second

// Client is a connection to a witness.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
	// Highest is the highest number of the witness at the start of the connection.
	Highest int64
}

// Dial connects to the witness at an address and starts or continues a session.
func Dial(ctx context.Context, address, session string) (*Client, error) {
	if err := CheckSession(session); err != nil {
		return nil, err
	}
	if err := permit.Check(ctx, permit.Dial, "the witness"); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("no witness answers at %s: %w. Start it on another machine with: plimsoll disk witness --listen %[1]s", address, err)
	}
	c := &Client{conn: conn, in: bufio.NewReaderSize(conn, 2*maxLine)}
	answer, err := c.ask(fmt.Sprintf("plimsoll-witness %d %s", version, session))
	if err == nil {
		text, ok := strings.CutPrefix(answer, "ok ")
		if c.Highest, err = parseNumber(text); !ok {
			err = fmt.Errorf("the server at %s is not a witness (it answers %.40q)", address, answer)
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// ask sends a line and reads the answer.
func (c *Client) ask(line string) (string, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c.conn, "%s\n", line); err != nil {
		return "", fmt.Errorf("the connection to the witness is lost: %w", err)
	}
	answer, err := readLine(c.in)
	if err != nil {
		return "", fmt.Errorf("the witness does not answer: %w", err)
	}
	if text, bad := strings.CutPrefix(answer, "error "); bad {
		return "", fmt.Errorf("the witness refused the record: %s", text)
	}
	return answer, nil
}

// Acknowledged reports a durable record, and returns when the witness has written it.
func (c *Client) Acknowledged(n int64) error {
	answer, err := c.ask(fmt.Sprint(n))
	if err != nil {
		return err
	}
	if got, err := parseNumber(answer); err != nil || got != n {
		return fmt.Errorf("the witness confirmed %.40q instead of %d", answer, n)
	}
	return nil
}

// Known returns the highest number of the session.
func (c *Client) Known() (int64, error) {
	answer, err := c.ask("?")
	if err != nil {
		return 0, err
	}
	return parseNumber(answer)
}

// Close ends the connection. The witness keeps the session.
func (c *Client) Close() error { return c.conn.Close() }
