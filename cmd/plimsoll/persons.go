package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/examples/failover/persons"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/run"
)

// personsCommand is the hidden command that a run with via: rest starts.
const personsCommand = "persons-service"

// The longest times to start and to stop the service.
const (
	serviceBeginAtMost = 30 * time.Second
	serviceEndAtMost   = 15 * time.Second
)

// listeningMark begins the line with the address of the service.
const listeningMark = "listening at "

// startService starts this program again as the REST service between a load and MongoDB. It passes the address of
// MongoDB on standard input, because other users can read command lines. The kernel ends the service with this process.
func startService(ctx context.Context, b run.ServiceBrief) (*run.Service, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot start the REST service: the path of plimsoll is unknown: %w", err)
	}
	brief, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, process.Spec{Role: personsCommand, Path: self, Args: []string{personsCommand},
		Input: string(brief), Log: w})
	w.Close() // the child has a copy
	if err != nil {
		r.Close()
		return nil, err
	}
	url, err := listeningAt(ctx, r)
	if err != nil {
		p.Kill()
		return nil, err
	}
	return &run.Service{URL: url, PID: p.PID, Ended: p.Done, End: func() error {
		ctx, cancel := context.WithTimeout(context.Background(), serviceEndAtMost)
		defer cancel()
		return p.End(ctx, syscall.SIGTERM)
	}}, nil
}

// listeningAt reads the output of the service up to its address. It discards later output, so the service never blocks
// on writes.
func listeningAt(ctx context.Context, r *os.File) (string, error) {
	type line struct {
		url  string
		said string
	}
	first := make(chan line, 1)
	go func() {
		defer r.Close()
		lines := bufio.NewReader(r)
		var said bytes.Buffer
		for {
			text, err := lines.ReadString('\n')
			if url, ok := strings.CutPrefix(strings.TrimSpace(text), listeningMark); ok {
				first <- line{url: url}
				_, _ = io.Copy(io.Discard, lines)
				return
			}
			said.WriteString(text)
			if err != nil {
				first <- line{said: said.String()}
				return
			}
		}
	}()
	select {
	case l := <-first:
		if l.url == "" {
			return "", fmt.Errorf("it exited at once: %s", strings.TrimSpace(l.said))
		}
		return l.url, nil
	case <-time.After(serviceBeginAtMost):
		return "", fmt.Errorf("it did not print its address within %v", serviceBeginAtMost)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// newPersonsCommand is the command that [startService] runs.
func newPersonsCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:    personsCommand,
		Short:  "Serve persons in MongoDB over REST, as specified on standard input",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var b run.ServiceBrief
			if err := json.NewDecoder(io.LimitReader(env.stdin, 1<<20)).Decode(&b); err != nil || b.Token == "" {
				return withExit(exitUsage, errors.New("standard input has no specification; to run the service yourself, use examples/failover/service"))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return persons.Serve(ctx, "127.0.0.1:0", persons.Options{URI: b.URI, Database: b.Database, Timeout: b.Timeout,
				Token: b.Token}, func(url string) {
				fmt.Fprintln(env.stdout, listeningMark+url)
			})
		},
	}
}
