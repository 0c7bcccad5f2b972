package faultfs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// protocolVersion changes with incompatible changes of the protocol.
const protocolVersion = 1

// maxLine is the maximum length of a line in bytes, enough for a list of thousands of disks.
const maxLine = 8 << 20

// request is one line from the client.
type request struct {
	Do     string    `json:"do"` // hello, create, remove, set, clear, cut, restore, stats, list
	Disk   string    `json:"disk,omitempty"`
	Size   int64     `json:"size,omitempty"`
	Device *Device   `json:"device,omitempty"`
	Cache  *Cache    `json:"cache,omitempty"`
	Fault  *Fault    `json:"fault,omitempty"`
	Kinds  []string  `json:"kinds,omitempty"`
	Cut    *PowerCut `json:"cut,omitempty"`
}

// reply is the line that answers a request when the command is in effect.
type reply struct {
	Error   string  `json:"error,omitempty"`
	Version int     `json:"version,omitempty"`
	Stats   []Stats `json:"stats,omitempty"`
}

var errLineTooLong = fmt.Errorf("a line of the control protocol is longer than %d bytes", maxLine)

// readLine reads one line of JSON. It returns io.EOF if the connection was closed between lines.
func readLine(in *bufio.Reader, into any) error {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return errLineTooLong
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return json.Unmarshal(line, into)
}

func writeLine(out io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}
