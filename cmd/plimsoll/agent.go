package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/nats"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/run"
)

// zoneVariable has the zone of an agent where it is not known before it starts. It may be empty.
const zoneVariable = "PLIMSOLL_AGENT_ZONE"

type agentOptions struct {
	nats.AgentOptions
	tokenFile string
	dir       string
}

func newAgentCommand(env *environment) *cobra.Command {
	var o agentOptions
	cmd := &cobra.Command{
		Use:   "agent --connect url",
		Short: "Send a part of the load of a run from this machine, or prepare agents in Kubernetes",
		Long: `Send a part of the load of a run from this machine.

An agent connects to the command that started a run with --agents, the coordinator. It performs the part that the
coordinator gives to it, hands over its results, and waits for the next run. It listens nowhere.

The coordinator shows the address and the token. The token is read from ` + tokenVariable + ` or from a file, because
other users can read command lines. With your NATS server an agent needs the token too.

In Kubernetes, a run with --place kubernetes creates its agents and removes them. To create agents by hand, apply the
output of 'plimsoll agent manifest', or install the Helm chart in deploy/helm/plimsoll-agents, which makes the same
objects.`,
		Example: `  ` + tokenVariable + `=… plimsoll agent --connect tls://10.0.0.5:4100 --zone eu-west
  plimsoll agent --connect tls://10.0.0.5:4100 --token-file token
  plimsoll agent --connect tls://nats.example:4222 --creds agent.creds --token-file token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, env) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Server.URL, "connect", "", "`URL` of the coordinator, or of the NATS server that carries its messages")
	fs.StringVar(&o.tokenFile, "token-file", "", "`file` with the coordinator's token (- for standard input; default the variable "+tokenVariable+")")
	fs.StringVar(&o.Server.Creds, "creds", "", "credentials `file` of your NATS server")
	fs.StringVar(&o.Server.CA, "ca", "", "`file` with the certificate authorities of your NATS server (default those of the system)")
	fs.StringVar(&o.Facts.Name, "name", "", "`name` of this agent, unique among those of the coordinator (default host name and process number)")
	fs.StringVar(&o.Facts.Zone, "zone", "", "`name` of the place of this machine, for example a region; it is in the record (default the variable "+zoneVariable+")")
	fs.StringToStringVar(&o.Facts.Labels, "label", nil, "label `key=value` of this agent, by which runs give shares; it is in the record (repeatable)")
	fs.Lookup("label").DefValue = "" // not []
	fs.StringVar(&o.dir, "dir", "", "`directory` for results until they are handed over (default that of temporary files)")
	fs.DurationVar(&o.Gone, "gone", 10*time.Minute, "`time` without the coordinator after which the agent ends")
	cmd.AddCommand(newAgentsManifestCommand(env), newAgentsCleanCommand(env))
	return cmd
}

func (o *agentOptions) run(cmd *cobra.Command, env *environment) error {
	if o.Server.URL == "" {
		return usageError("--connect is missing: give the address that the coordinator shows (plimsoll run … --agents N)")
	}
	var err error
	if o.Server.Token, err = o.token(cmd.Context(), env); err != nil {
		return err
	}
	o.Facts.Version, o.Facts.Commit = version, tool().Commit
	o.Facts.Zone = cmp.Or(o.Facts.Zone, o.Facts.Labels["zone"], env.getenv(zoneVariable))
	o.Leave = true
	o.Tell = func(text string) { fmt.Fprintln(env.stderr, "plimsoll agent:", text) }
	// A terminal that closes must not end the load: the coordinator decides.
	signal.Ignore(syscall.SIGHUP)
	ctx, _, stop := endOrAbort(cmd.Context(), env)
	defer stop()
	calibrated := ceiling(env)
	o.Facts.Weight = calibrated.Rate(run.ClientWire)
	agent := fleet.Agent{Duties: drill.Duties(), Service: startService, Dir: o.dir, Ceiling: calibrated}
	err = nats.Serve(ctx, o.AgentOptions, agent)
	if ctx.Err() != nil {
		return nil
	}
	return withExit(exitUnreachable, err)
}

// token reads the token of the coordinator.
func (o *agentOptions) token(ctx context.Context, env *environment) (string, error) {
	var text string
	switch {
	case o.tokenFile == "-":
		line, err := bufio.NewReader(io.LimitReader(env.stdin, safeopen.MaxSecret)).ReadString('\n')
		if err != nil && line == "" {
			return "", usageError("no token came from standard input")
		}
		text = line
	case o.tokenFile != "":
		var err error
		if text, err = safeopen.ReadSecretInput(ctx, o.tokenFile); err != nil {
			return "", withExit(exitUsage, err)
		}
	default:
		text = env.getenv(tokenVariable)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "", withExit(exitUsage, errors.New("no token: set "+tokenVariable+" or --token-file to what the coordinator shows"))
	}
	return text, nil
}
