package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/scratch"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// The parts of a command line that a mongod or mongos can refuse.
const (
	AboutArgs       = "args"
	AboutParameters = "parameters"
	AboutTLS        = "tls"
)

// Refusal is the reason why a mongod or mongos does not start with a command line.
type Refusal struct {
	About string // one of the constants above
	Text  string // of the server
}

func (r *Refusal) Error() string { return r.Text }

// tryLimit bounds a trial start. A server that has not refused its command line by then has accepted it.
const tryLimit = 10 * time.Second

// badOptions is the exit code for a refused command line (manual: "Exit Codes and Statuses").
const badOptions = 2

// nowhere is a path that cannot be written, because no file can be made below a device.
const nowhere = "/dev/null/plimsoll"

// TryMongo checks whether a program of this release accepts parameters, arguments and optionally TLS in a role. It does
// not run a server: the program cannot write its PID file, so it ends after it has read its command line and before it
// opens anything. If the program refuses its command line, the error is a [*Refusal].
func TryMongo(ctx context.Context, p MongoPrograms, role string, parameters map[string]string, args []string,
	tls bool) error {
	port, err := FreePort() // it ends before it listens
	if err != nil {
		return err
	}
	path := p.Mongod
	line := []string{"--port", strconv.Itoa(port), "--bind_ip", "127.0.0.1", "--nounixsocket", "--pidfilepath", nowhere}
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
		dir, err := scratch.Make("", "plimsoll-try-", nil)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := WriteCertificates(dir, map[string]string{"try": ""}); err != nil {
			return err
		}
		line = append(line, tlsArgs(CAFile(dir), hostCertificate(dir, "try"))...)
	}
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	var output bytes.Buffer
	line = slices.Concat(line, parameterArgs(parameters), args)
	_, err = process.Run(ctx, process.Spec{Role: path, Path: path, Args: line}, &output)
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return nil // other errors of the program are reported by its real start
	}
	return refusal(ended.ExitCode(), output.String())
}

// refusal finds the reason of a refused command line in a server's output, nil if it was not refused. The reason is the
// first line that is neither a log line nor advice, or a log line about a failed initialization.
func refusal(code int, output string) error {
	r := &Refusal{About: AboutArgs}
	for line := range strings.Lines(output) {
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
	r.Text = cmp.Or(r.Text, "it refused its command line")
	switch low := strings.ToLower(r.Text); {
	case strings.Contains(low, "parameter"):
		r.About = AboutParameters
	case strings.Contains(low, "unrecogni") && strings.Contains(low, "tlsmode"):
		r.About = AboutTLS
	}
	return r
}

// failedInitialization returns the error of a log line about a failed global initialization, which detects unknown
// parameters (message 20574 since 4.4).
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
