package witness

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// patience is how long a witness may take to answer.
const patience = 30 * time.Second

// Client speaks with a witness.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
	// Highest is the number that the witness knew when the client came.
	Highest int64
}

// Dial reaches the witness at an address and begins or continues a session.
func Dial(ctx context.Context, address, session string) (*Client, error) {
	if err := CheckSession(session); err != nil {
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

// Acknowledged tells the witness that a record is durable, and returns when it has written that down.
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

// Known asks for the highest number of the session.
func (c *Client) Known() (int64, error) {
	answer, err := c.ask("?")
	if err != nil {
		return 0, err
	}
	return parseNumber(answer)
}

// Close ends the connection; the witness remembers the session.
func (c *Client) Close() error { return c.conn.Close() }
