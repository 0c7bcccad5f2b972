package spec

import (
	"strings"
	"testing"
)

// What a lab in Kubernetes does not have is refused, and the sentence says what to do.
func TestLabInKubernetes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Lab)
		want   string
	}{
		"complete":          {func(*Lab) {}, ""},
		"set":               {func(l *Lab) { l.Topology = Topology{Kind: LabReplicaSet, Members: 3} }, ""},
		"without key":       {func(l *Lab) { l.Kubernetes, l.Hosts.Mode = nil, LabKubernetes }, "needs the key kubernetes"},
		"image":             {func(l *Lab) { l.Kubernetes.Image = "" }, "kubernetes.image: it is missing"},
		"namespace":         {func(l *Lab) { l.Kubernetes.Namespace = "a/b" }, `kubernetes.namespace: "a/b"`},
		"class":             {func(l *Lab) { l.Kubernetes.StorageClass = "A" }, `kubernetes.storage_class: "A"`},
		"spread":            {func(l *Lab) { l.Kubernetes.Spread = "-" }, `kubernetes.spread: "-"`},
		"mode":              {func(l *Lab) { l.Hosts.Mode = "plain" }, "hosts.mode: plain is not for a lab in Kubernetes"},
		"policy":            {func(l *Lab) { l.Storage.Stripe = 2 }, "The storage policy is that of kubernetes.storage_class"},
		"availability":      {func(l *Lab) { l.Availability.Restart = true }, "Kubernetes restarts pods itself"},
		"engine":            {func(l *Lab) { l.Engine.Name = LabDocumentDB }, "runs mongod, not documentdb. Deploy another engine yourself"},
		"version":           {func(l *Lab) { l.Engine.Version = "8.0" }, "engine.version: it is that of kubernetes.image"},
		"tls":               {func(l *Lab) { l.Engine.TLS = true }, "always has authentication, and no tls"},
		"shards":            {func(l *Lab) { l.Topology.Kind = LabSharded }, "a standalone or a replica set without arbiters"},
		"requested memory":  {func(l *Lab) { l.Kubernetes.Requests = &HostLimits{Memory: 2 << 30} }, "is more than the limit hosts.memory"},
		"requested cores":   {func(l *Lab) { l.Kubernetes.Requests = &HostLimits{Cores: 3} }, "is more than the limit hosts.cores, 2"},
		"requested at most": {func(l *Lab) { l.Kubernetes.Requests = &HostLimits{Cores: 2, Memory: 1 << 30} }, ""},
	} {
		l := Lab{Name: "pods", Kubernetes: &LabPods{Image: "mongo:8.0"}, Hosts: Hosts{Cores: 2, Memory: 1 << 30}}
		c.change(&l)
		l.Defaults()
		if err := l.Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
