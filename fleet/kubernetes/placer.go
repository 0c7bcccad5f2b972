package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
)

const (
	// jobPrefix begins the names of Jobs that Place makes.
	jobPrefix = "plimsoll-agents-"
	// placed is a label of what Place made. Objects that people made of the manifest or the chart do not have it.
	placed = "plimsoll-placed-by"
	// endAtMost is the time limit of requests that remove agents.
	endAtMost = 30 * time.Second
)

var (
	// resources of the objects of the manifest by kind.
	resources = map[string]schema.GroupVersionResource{
		"Job":           kube.Jobs,
		"Secret":        kube.Secrets,
		"NetworkPolicy": kube.NetworkPolicies,
	}
)

// Cluster is a connection to a Kubernetes.
type Cluster struct{ *kube.Cluster }

// Connect reads a kubeconfig: the given file, or that of kubectl; in a pod, its service account. An empty namespace is
// that of the kubeconfig.
func Connect(kubeconfig, namespace string) (*Cluster, error) {
	c, err := kube.Connect(kube.Login{Kubeconfig: kubeconfig, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	c.Rights = "the rights to create, list and delete jobs, secrets, networkpolicies and pods there"
	return &Cluster{c}, nil
}

// Coordinator is where agents register.
type Coordinator interface {
	// Wait returns links to n agents when so many are there.
	Wait(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error)
	// Resume returns links to the agents of an unfinished run.
	Resume(ctx context.Context) ([]fleet.Link, error)
	// Connect is its address for agents.
	Connect() string
	// Token is what an agent must know.
	Token() string
}

// Placer places agents in a cluster.
type Placer struct {
	cluster     *Cluster
	settings    Settings
	coordinator Coordinator

	mu   sync.Mutex
	made []string // names of Jobs
	n    int      // their agents
	fates
}

// New returns a placer. It chooses the name of the settings and the number itself, and asks the coordinator for the
// address and the token if they are not given.
func New(c *Cluster, s Settings, to Coordinator) *Placer {
	s.Namespace = c.Namespace
	return &Placer{cluster: c, settings: s, coordinator: to}
}

// Place starts the agents that are missing, in a Job of their own.
func (p *Placer) Place(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error) {
	if err := permit.Check(ctx, permit.Dial, "Kubernetes"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n < n {
		if err := p.add(ctx, n-p.n); err != nil {
			return nil, err
		}
	}
	if tell == nil {
		tell = func(string) {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel(nil)
	following.Go(func() {
		if err := p.cluster.follow(ctx, p.made, tell); err != nil {
			cancel(err)
		}
	})
	links, err := p.coordinator.Wait(ctx, n, tell)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause
	}
	return links, err
}

// podName is the name of an agent, which is that of its pod. The first part is its Job.
var podName = expression.New(`^(` + jobPrefix + `[a-z2-7]{8})-\d+-[a-z0-9]+$`)

var (
	_ fleet.Resumer   = (*Placer)(nil)
	_ fleet.Explainer = (*Placer)(nil)
)

// End removes the Jobs of the agents.
func (p *Placer) Resume(ctx context.Context) ([]fleet.Link, error) {
	links, err := p.coordinator.Resume(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range links {
		if m := podName().FindStringSubmatch(l.Facts().Name); m != nil && !slices.Contains(p.made, m[1]) {
			p.made = append(p.made, m[1])
			p.fates.follow(p.cluster, m[1])
		}
	}
	return links, err
}

func (p *Placer) add(ctx context.Context, n int) error {
	s := p.settings
	s.Name, s.Agents = jobPrefix+strings.ToLower(rand.Text()[:8]), n
	if s.Connect == "" {
		s.Connect = p.coordinator.Connect()
	}
	if err := reachable(s.Connect); err != nil {
		return err
	}
	s.Token = p.coordinator.Token()
	objects, err := parse(s)
	if err != nil {
		return err
	}
	p.made = append(p.made, s.Name) // before it exists, so that End removes it in any case
	var owner []meta.OwnerReference
	for _, o := range objects {
		o.SetOwnerReferences(owner)
		labels := o.GetLabels()
		labels[placed] = "run"
		o.SetLabels(labels)
		made, err := p.cluster.In(resources[o.GetKind()]).Create(ctx, o, meta.CreateOptions{})
		if err != nil {
			return p.cluster.Explain(err, "create the "+o.GetKind()+" of the agents")
		}
		if o.GetKind() == "Job" {
			owner = []meta.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: s.Name, UID: made.GetUID()}}
			p.fates.follow(p.cluster, s.Name)
		}
	}
	p.n += n
	return nil
}

// reachable refuses an address that means another place in a pod.
func reachable(connect string) error {
	u, err := url.Parse(connect)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return fmt.Errorf("pods do not reach the coordinator at %s. Let it listen on an address of this machine that the "+
			"nodes reach, with --agents-listen ADDRESS:PORT", connect)
	}
	return nil
}

// parse returns the objects of the manifest.
func parse(s Settings) ([]*unstructured.Unstructured, error) {
	text, err := Manifest(s)
	if err != nil {
		return nil, err
	}
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4<<10)
	var list []*unstructured.Unstructured
	for {
		var o unstructured.Unstructured
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			list = append(list, &o)
		}
	}
}

func (p *Placer) End() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endAtMost)
	defer cancel()
	var err error
	for _, name := range p.made {
		err = errors.Join(err, p.cluster.remove(ctx, name))
	}
	p.made, p.n = nil, 0
	p.fates.end()
	return err
}

// remove removes a Job. The cluster removes its pods and what it owns.
func (c *Cluster) remove(ctx context.Context, name string) error {
	background := meta.DeletePropagationBackground
	o := meta.DeleteOptions{PropagationPolicy: &background}
	err := c.In(kube.Jobs).Delete(ctx, name, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.Explain(err, "remove the Job "+name+" of the agents")
}

// Clean removes the agents that placers left in the namespace, and those that are in use. It returns the names of their
// Jobs.
func (c *Cluster) Clean(ctx context.Context) ([]string, error) {
	list, err := c.In(kube.Jobs).List(ctx, meta.ListOptions{LabelSelector: placed})
	if err != nil {
		return nil, c.Explain(err, "list the Jobs of agents")
	}
	var removed []string
	for _, j := range list.Items {
		if err := c.remove(ctx, j.GetName()); err != nil {
			return removed, err
		}
		removed = append(removed, j.GetName())
	}
	return removed, nil
}
