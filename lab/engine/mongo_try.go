package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// What a mongod or mongos can refuse about its command line.
const (
	AboutArgs       = "args"
	AboutParameters = "parameters"
	AboutTLS        = "tls"
)

// Refusal is why a mongod or mongos does not start with a command line.
type Refusal struct {
	About string // one of the words above
	Text  string // the server's own words
}

func (r *Refusal) Error() string { return r.Text }

// tryLimit bounds a trial start. A server that has not refused its command line by then has accepted it.
const tryLimit = 10 * time.Second

// badOptions is the exit code of MongoDB's servers for a command line that they refuse (manual: "Exit Codes and Statuses").
const badOptions = 2

// nowhere cannot be written to: no file can be made below a device.
const nowhere = "/dev/null/plimsoll"

// TryMongo finds out whether a program of this release accepts parameters and arguments in a role, and TLS where that is
// asked for, without running a server: its process file cannot be written, so it ends by itself after it has read its
// command line and before it opens anything. The error is a [*Refusal] if the program refused its command line.
func TryMongo(ctx context.Context, p MongoPrograms, role string, parameters map[string]string, args []string, tls bool) error {
	port, err := freePort() // it ends before it listens
	if err != nil {
		return err
	}
	path, line := p.Mongod, []string{"--port", strconv.Itoa(port), "--bind_ip", "127.0.0.1", "--nounixsocket", "--pidfilepath", nowhere}
	if role == MongoRouter {
		path, line = p.Mongos, append(line, "--configdb", "config/127.0.0.1:"+strconv.Itoa(port))
	} else {
		line = append(line, "--dbpath", nowhere)
	}
	if role != MongoRouter && role != MongoStandalone {
		line = append(line, "--replSet", "try")
	}
	switch role {
	case MongoConfig:
		line = append(line, "--configsvr")
	case MongoShard:
		line = append(line, "--shardsvr")
	}
	if tls { // with certificates, because other arguments may need them
		dir, err := os.MkdirTemp("", "plimsoll-try-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // certificates that nobody trusts
		if err := WriteCertificates(dir, map[string]string{"try": ""}); err != nil {
			return err
		}
		line = append(line, tlsArgs(CAFile(dir), hostCertificate(dir, "try"))...)
	}
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	var said bytes.Buffer
	_, err = process.Run(ctx, process.Spec{Role: path, Path: path, Args: append(append(line, parameterArgs(parameters)...), args...)}, &said)
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return nil // it cannot be started, or did not end in time: that is found out elsewhere
	}
	return refusal(ended.ExitCode(), said.String())
}

// refusal finds in what a server printed why it refused its command line, nil if it did not. The reason is the first line
// that is neither a line of its log nor advice, or a line of its log that says that its initialization failed.
func refusal(code int, said string) error {
	r := &Refusal{About: AboutArgs}
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "{") {
			line = failedInitialization(line)
		} else if code != badOptions {
			line = ""
		}
		if line == "" || strings.HasPrefix(line, "try '") {
			continue
		}
		for _, start := range []string{"Error parsing command line: ", "BadValue: ", "Error: "} {
			line = strings.TrimPrefix(line, start)
		}
		r.Text = line
		break
	}
	if r.Text == "" && code != badOptions {
		return nil
	}
	r.Text = cmp.Or(r.Text, "it refuses its command line")
	switch low := strings.ToLower(r.Text); {
	case strings.Contains(low, "parameter"):
		r.About = AboutParameters
	case strings.Contains(low, "unrecogni") && strings.Contains(low, "tlsmode"):
		r.About = AboutTLS
	}
	return r
}

// failedInitialization is the error in a line of the log that says that global initialization failed: unknown parameters
// are found there (message 20574 since 4.4).
func failedInitialization(line string) string {
	var entry struct {
		Text string `json:"msg"`
		Attr struct {
			Error struct {
				Message string `json:"errmsg"`
			} `json:"error"`
		} `json:"attr"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || !strings.HasPrefix(entry.Text, "Error during global initialization") {
		return ""
	}
	return entry.Attr.Error.Message
}
