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

// anyPort is a port on loopback that the system chooses.
const anyPort = "127.0.0.1:0"

// serveOptions are the flags of `plimsoll serve`.
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
		Short: "Show a folder of records in the browser, and follow what runs",
		Long: `Show a folder of records in the browser: list, search, open and compare them, and follow what is
being written right now. DIR is plimsoll-data if none is given. Labs that run on this machine are
listed with them, and each has a page of its own.

The page listens on this machine only and ends with Ctrl-C. It shows reports exactly as 'plimsoll
report' makes them. Labs are shown, and what runs can be stopped, only with the token that is in
the printed address. Other machines reach the page with --listen and a token of your own
(--token-file), which is not printed: add ?token=TOKEN to the address yourself. Put a proxy with TLS
in front of the page and give the address that browsers use with --name.

Exit codes: 0 ended by Ctrl-C, 1 it cannot listen, 2 usage.`,
		Example: `  plimsoll serve
  plimsoll serve results --listen 127.0.0.1:8017
  plimsoll serve results --listen 127.0.0.1:8017 --token-file token --name https://bench.example
  plimsoll serve results --listen 0.0.0.0:8017 --token-file token --metrics`,
		Args: atMostOne("folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := run.DefaultDir
			if len(args) == 1 {
				dir = args[0]
			}
			return o.serve(env, dir)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", anyPort, "address and port; beyond loopback a token file is needed")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "", "file with the token, one line, readable only by you (default: a new token each time)")
	cmd.Flags().StringArrayVar(&o.names, "name", nil, "another address at which the page is reached: https://NAME behind a TLS proxy, or http://NAME:PORT")
	cmd.Flags().BoolVar(&o.metrics, "metrics", false, "offer /metrics to Prometheus, of what runs")
	return cmd
}

func (o *serveOptions) serve(env *environment, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usageError("%s is no folder: give the one that has your records (plimsoll run and others make %s in the directory that they are called in)", dir, run.DefaultDir)
	}
	token := ""
	if o.tokenFile != "" {
		var err error
		if token, err = serve.ReadToken(o.tokenFile); err != nil {
			return usageError("%w", err)
		}
	}
	s, err := newServer(o.listen, serve.Options{Dir: dir, Token: token, Names: o.names, Metrics: o.metrics, Tool: tool(), Labs: pageLabs(env),
		Compare: compareSides})
	if err != nil {
		return err
	}
	signals, stop := env.signals()
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	fmt.Fprintf(direct(env.stdout), "%s is at %s\n", visible.Line(dir), s.Address())
	if len(o.names) > 0 {
		fmt.Fprintf(env.stderr, "plimsoll: it listens on %s\n", s.Listens())
	}
	if token != "" {
		fmt.Fprintln(env.stderr, "plimsoll: open it with ?token= and the token of your file behind the address")
	}
	fmt.Fprintln(env.stderr, "plimsoll: Ctrl-C ends it")
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
		return nil, withExit(exitFailure, fmt.Errorf("cannot listen on %s: %w; choose another address (--listen)", listen, err))
	}
	s, err := serve.New(ln, o)
	if err != nil {
		return nil, withExit(exitUsage, errors.Join(err, ln.Close()))
	}
	return s, nil
}

// webFlag adds --web to a command that makes a record.
func webFlag(cmd *cobra.Command, web *string) {
	cmd.Flags().StringVar(web, "web", "", "follow it in the browser while it goes on; --web=127.0.0.1:PORT chooses the port")
	cmd.Flags().Lookup("web").NoOptDefVal = anyPort
}

// startWeb serves the live view of one record, which need not be there yet, until end is called. Nothing waits for a
// browser.
func startWeb(env *environment, listen, dir string) (end func(), err error) {
	if listen == "" {
		return func() {}, nil
	}
	if host, _, err := net.SplitHostPort(listen); err != nil || !loopback(host) {
		return nil, usageError("--web=%s is not an address of this machine alone: give 127.0.0.1:PORT, or serve the folder to others with plimsoll serve --token-file", listen)
	}
	s, err := newServer(listen, serve.Options{Dir: filepath.Clean(dir), Alone: true, Tool: tool(), Labs: pageLabs(env), Open: env.openPage})
	if err != nil {
		return nil, err
	}
	go func() {
		if err := s.Serve(); err != nil {
			fmt.Fprintf(env.stderr, "plimsoll: the page is gone, the rest goes on: %v\n", err)
		}
	}()
	fmt.Fprintf(direct(env.stderr), "plimsoll: follow it at %s\n", s.Address())
	return func() { _ = s.Close() }, nil // whatever is left of it ends with the process
}

// loopback says whether only this machine reaches an address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
