// Package kubernetes places agents in a cluster, as the pods of an Indexed Job. Everything that it makes has labels and
// belongs to the Job, so the cluster removes all of it with the Job. It does not know what agents do.
package kubernetes

import (
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

const chart = "helm/plimsoll-agents/templates"

// Settings say how agents run in a cluster: the values of the Helm chart.
type Settings struct {
	Name      string // of the Job and what belongs to it
	Namespace string
	Image     string
	Agents    int
	Connect   string // the address of the coordinator or of the NATS server
	Token     string // of the coordinator
	Creds     string // text of a credentials file of the user's NATS server; "" without
	CPU       string // cores of an agent, as Kubernetes writes them
	Memory    string
}

var (
	validName  = expression.New(`^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$`)
	validURL   = expression.New(`^(nats|tls|ws|wss)://[!-~]+$`)
	validCount = expression.New(`^[0-9]+(\.[0-9]+)?(m|[kMGT]i?)?$`)
)

// check refuses what would give other YAML than meant, or what the cluster would refuse.
func (s Settings) check() error {
	switch {
	case !validName().MatchString(s.Name):
		return fmt.Errorf("the name %q of the agents is not valid: use up to 50 small letters, digits and hyphens", s.Name)
	case !validName().MatchString(s.Namespace):
		return fmt.Errorf("the namespace %q is not valid: use small letters, digits and hyphens", s.Namespace)
	case !validURL().MatchString(s.Connect):
		return fmt.Errorf("the address %q for agents is not valid: use tls://HOST:PORT, as the coordinator shows it", s.Connect)
	case s.Image == "":
		return errors.New("the image of plimsoll for the agents is missing")
	case s.Agents < 1:
		return fmt.Errorf("%d agents cannot be placed: use at least 1", s.Agents)
	case s.Token == "":
		return errors.New("agents need the token of the coordinator, also with credentials of your NATS server")
	case !validCount().MatchString(s.CPU) || !validCount().MatchString(s.Memory):
		return fmt.Errorf("the limits %q cores and %q of memory are not valid: use quantities of Kubernetes such as 500m and 512Mi",
			s.CPU, s.Memory)
	}
	return nil
}

// Manifest returns the objects as YAML documents: the Job first, because the others belong to it.
func Manifest(s Settings) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return render(s.values())
}

// values are what Helm gives to the templates.
func (s Settings) values() map[string]any {
	return map[string]any{
		"Release": map[string]any{"Name": s.Name, "Namespace": s.Namespace, "Service": "plimsoll"},
		"Values": map[string]any{"agents": s.Agents, "image": s.Image, "connect": s.Connect, "token": s.Token,
			"creds": s.Creds, "cpu": s.CPU, "memory": s.Memory},
	}
}
