package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/serve"
)

// anyPort is a free loopback port.
const anyPort = "127.0.0.1:0"

type serveOptions struct {
	listen    string
	tokenFile string
	names     []string
	metrics   bool
}

func newServeCommand(env *environment) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Browse records, and follow running measurements",
		Long: `Browse the records of a folder: list, search, open and compare them, and follow running measurements. DIR is
plimsoll-data by default, with the newest 200 records that you wrote elsewhere (--out). The labs of this
machine are listed too.

The server listens on this machine only and stops at Ctrl-C. The printed address has a token. You need it to
see labs and to stop running measurements.

For access from other machines, use --listen and a token of your own (--token-file). This token is not
printed: add ?token=TOKEN to the address. Use a TLS proxy in front of the server, and give the address that
browsers use with --name.

Exit codes: 0 stopped by Ctrl-C, 1 cannot listen, 2 usage error.`,
		Example: `  plimsoll serve
  plimsoll serve results --listen 127.0.0.1:8017
  plimsoll serve results --listen 127.0.0.1:8017 --token-file token --name https://bench.example
  plimsoll serve results --listen 0.0.0.0:8017 --token-file token --metrics`,
		Args: atMostOne("folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return o.serve(env, args[0], nil)
			}
			var elsewhere func() []string
			if host, _, err := net.SplitHostPort(o.listen); err == nil && loopback(host) && o.tokenFile == "" {
				elsewhere = func() []string { return elsewhereOf(env, run.DefaultDir) }
			}
			return o.serve(env, run.DefaultDir, elsewhere)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", anyPort, "`address` and port to listen on; other than loopback, it needs --token-file")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "", "`file` with the token, one line, readable only by you (default: a new token each time)")
	cmd.Flags().StringArrayVar(&o.names, "name", nil, "further `address` of the server: https://NAME behind a TLS proxy, or http://NAME:PORT (repeatable)")
	cmd.Flags().BoolVar(&o.metrics, "metrics", false, "serve /metrics of running measurements for Prometheus")
	return cmd
}

// serve serves a folder, and records elsewhere, which may be all that there is.
func (o *serveOptions) serve(env *environment, dir string, elsewhere func() []string) error {
	if info, err := os.Stat(dir); (err != nil || !info.IsDir()) && (elsewhere == nil || len(elsewhere()) == 0) {
		return usageError("%s is not a folder: give the folder with your records (by default, %s in the directory where you ran plimsoll)", dir, run.DefaultDir)
	}
	token := ""
	if o.tokenFile != "" {
		var err error
		if token, err = serve.ReadToken(o.tokenFile); err != nil {
			return usageError("%w", err)
		}
	}
	s, err := newServer(o.listen, serve.Options{Dir: dir, Token: token, Names: o.names, Metrics: o.metrics, Tool: tool(),
		Further: elsewhere, Labs: pageLabs(env),
		Compare: compareSides})
	if err != nil {
		return err
	}
	signals, stop := env.signals()
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	fmt.Fprintf(direct(env.stdout), "serving %s at %s\n", visible.Line(dir), s.Address())
	if len(o.names) > 0 {
		fmt.Fprintf(env.stderr, "plimsoll: listening on %s\n", s.Listens())
	}
	if token != "" {
		fmt.Fprintln(env.stderr, "plimsoll: add ?token= and the token of your file to the address")
	}
	fmt.Fprintln(env.stderr, "plimsoll: stop with Ctrl-C")
	select {
	case <-signals:
	case err := <-ended:
		return withExit(exitFailure, errors.Join(err, s.Close()))
	}
	return withExit(exitFailure, s.Close())
}

func newServer(listen string, o serve.Options) (*serve.Server, error) {
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, withExit(exitFailure, fmt.Errorf("cannot listen on %s: %w; give another address with --listen", listen, err))
	}
	s, err := serve.New(ln, o)
	if err != nil {
		return nil, withExit(exitUsage, errors.Join(err, ln.Close()))
	}
	return s, nil
}

func webFlag(cmd *cobra.Command, web *string) {
	cmd.Flags().StringVar(web, "web", "", "show progress in the browser, at this loopback `address` (default: a free port)")
	cmd.Flags().Lookup("web").NoOptDefVal = anyPort
}

// startWeb notes a record that begins, and serves its live page, which may not exist yet, until end is called.
func startWeb(env *environment, listen, dir string) (end func(), err error) {
	noteRecord(env, dir)
	if listen == "" {
		return func() {}, nil
	}
	if host, _, err := net.SplitHostPort(listen); err != nil || !loopback(host) {
		return nil, usageError("--web=%s is not a loopback address: give 127.0.0.1:PORT, or use plimsoll serve --token-file for access from other machines", listen)
	}
	s, err := newServer(listen, serve.Options{Dir: filepath.Clean(dir), Alone: true, Tool: tool(), Labs: pageLabs(env),
		Open: env.openPage})
	if err != nil {
		return nil, err
	}
	go func() {
		if err := s.Serve(); err != nil {
			fmt.Fprintf(env.stderr, "plimsoll: the page stopped; the measurement continues: %v\n", err)
		}
	}()
	fmt.Fprintf(direct(env.stderr), "plimsoll: progress is shown at %s\n", s.Address())
	return func() { _ = s.Close() }, nil // the rest ends with the process
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
