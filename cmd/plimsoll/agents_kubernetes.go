package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/fleet/kubernetes"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// kubernetesFlags say where and how agents run in a cluster.
type kubernetesFlags struct {
	kubeconfig, namespace string
	kubernetes.Settings
}

// addClusterFlags say which cluster.
func (f *kubernetesFlags) addClusterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "`file` that describes the Kubernetes cluster (default as kubectl finds it)")
	fs.StringVar(&f.namespace, "namespace", "", "`namespace` of the pods in Kubernetes (default that of the kubeconfig)")
}

func newAgentsManifestCommand(env *environment) *cobra.Command {
	var o kubernetesFlags
	var token, creds string
	cmd := &cobra.Command{
		Use:   "manifest --connect url --token-file file",
		Short: "Print agents as YAML for kubectl apply",
		Long: `Print agents as YAML for kubectl apply.

The output is an Indexed Job whose pods are spread over the nodes, a Secret with the credentials, and a NetworkPolicy
that lets nothing connect to the agents. The agents connect to the address that the coordinator shows when a run starts
with --place manual.`,
		Example: `  plimsoll agent manifest --agents 8 --connect tls://10.0.0.5:4100 --token-file token | kubectl apply -f -`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for file, text := range map[string]*string{token: &o.Token, creds: &o.Creds} {
				if file == "" {
					continue
				}
				b, err := safeopen.ReadSecretInput(cmd.Context(), file)
				if err != nil {
					return withExit(exitUsage, err)
				}
				*text = strings.TrimSpace(b)
			}
			manifest, err := kubernetes.Manifest(o.Settings)
			if err != nil {
				return withExit(exitUsage, err)
			}
			_, err = env.stdout.Write(manifest)
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Name, "name", "plimsoll-agents", "`name` of the Job and of what belongs to it")
	fs.StringVar(&o.Namespace, "namespace", "default", "`namespace` of the agents")
	fs.IntVar(&o.Agents, "agents", 4, "`number` of agents")
	fs.StringVar(&o.Connect, "connect", "", "`URL` of the coordinator, or of the NATS server that carries its messages")
	fs.StringVar(&token, "token-file", "", "`file` with the coordinator's token")
	fs.StringVar(&creds, "creds", "", "credentials `file` of your NATS server, besides the token")
	addPodFlags(fs, &o.Settings)
	return cmd
}

// addPodFlags say what an agent's pod is.
func addPodFlags(fs *pflag.FlagSet, s *kubernetes.Settings) {
	fs.StringVar(&s.Image, "agent-image", defaultImage(), "container `image` of plimsoll for pods in Kubernetes")
	fs.StringVar(&s.CPU, "agent-cpu", "1", "`cores` of each pod of plimsoll in Kubernetes")
	fs.StringVar(&s.Memory, "agent-memory", "512Mi", "memory (`size`) of each pod of plimsoll in Kubernetes")
}

// defaultImage is what make image writes.
func defaultImage() string { return "plimsoll:latest" }

func newAgentsCleanCommand(env *environment) *cobra.Command {
	var o kubernetesFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove agents that killed runs left in a Kubernetes cluster",
		Long: `Remove agents that killed runs left in a Kubernetes cluster. Without this command, they end after some minutes
without their run, and the cluster removes them 10 minutes later.

It removes all agents that runs created in the namespace, also those of runs that still use them. It does not remove
agents that you created with "plimsoll agent manifest" or the Helm chart.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := kubernetes.Connect(o.kubeconfig, o.namespace)
			if err != nil {
				return withExit(exitUsage, err)
			}
			removed, err := c.Clean(cmd.Context())
			for _, name := range removed {
				fmt.Fprintf(env.stdout, "removed the Job %s in the namespace %s\n", name, c.Namespace)
			}
			if err == nil && len(removed) == 0 {
				fmt.Fprintf(env.stdout, "the namespace %s has no agents\n", c.Namespace)
			}
			return withExit(exitUnreachable, err)
		},
	}
	o.addClusterFlags(cmd.Flags())
	return cmd
}
