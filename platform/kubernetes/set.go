package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Options are what a set is opened with.
type Options struct {
	// Target is k8s:NAMESPACE/NAME.
	Target string
	// Kubeconfig is a file; empty is that of kubectl or, in a pod, its service account.
	Kubeconfig string
}

// Set is a deployment: the pods of a StatefulSet, or those that labels name. It must be closed.
type Set struct {
	cluster  *cluster
	access   access
	name     string
	kind     string // by what it was found
	selector string
	pods     []core.Pod // when it was opened
	watch    *watch
	forwards []*forward
	end      func()
	ending   sync.Once
}

// labels find the pods of a deployment by its name.
var labels = []struct{ kind, selector string }{
	{"Percona Operator for MongoDB", "app.kubernetes.io/managed-by=percona-server-mongodb-operator,app.kubernetes.io/instance=%s"},
	{"MongoDB Community Operator", "app=%s-svc"},
	{"Bitnami chart", "app.kubernetes.io/name in (mongodb,mongodb-sharded),app.kubernetes.io/instance=%s"},
	{"label app.kubernetes.io/instance", "app.kubernetes.io/instance=%s"},
	{"label app", "app=%s"},
}

// Open finds a deployment and opens the ways to its members. In a pod of the cluster, their names lead there.
func Open(ctx context.Context, o Options) (*Set, error) {
	if err := permit.Check(ctx, permit.Dial, "Kubernetes"); err != nil {
		return nil, err
	}
	namespace, name, ok := strings.Cut(strings.TrimPrefix(o.Target, spec.KubernetesScheme), "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q does not name a deployment in Kubernetes. Write k8s:NAMESPACE/NAME, such as k8s:db/mongo", o.Target)
	}
	c, err := connect(kube.Login{Kubeconfig: o.Kubeconfig, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return openIn(ctx, c, name)
}

// openIn finds a deployment in the namespace of a cluster.
func openIn(ctx context.Context, c *cluster, name string) (*Set, error) {
	s := &Set{cluster: c, name: name}
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.watch = newWatch(ctx, c, s.selector, s.pods)
	if volumes := s.volumeNames(ctx); len(volumes) > 0 {
		s.watch.ended.Go(func() { s.watch.attached(ctx, c, volumes) })
	}
	stop := func() {}
	if !kube.Inside() {
		for _, p := range s.pods {
			s.forwards = append(s.forwards, newForward(ctx, c, s.watch, p.Name, port(&p)))
		}
		stop = dial.Use(s.route)
	}
	s.end = func() {
		stop()
		cancel()
		s.watch.ended.Wait()
		for _, f := range s.forwards {
			f.ended.Wait()
		}
	}
	return s, nil
}

// find finds the pods: those of the StatefulSet of the name, else those with labels of an operator or a chart.
func (s *Set) find(ctx context.Context) error {
	sts, err := kube.Get[apps.StatefulSet](ctx, s.cluster.Cluster, kube.StatefulSets, s.name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		s.kind = "StatefulSet"
		if sts.Labels[labLabel] != "" {
			if s.access, err = accessOf(ctx, s.cluster, s.name); err != nil {
				return err
			}
		}
		for _, l := range labels[:3] {
			if maker(sts.Spec.Template.Labels) == l.kind {
				s.kind += " of the " + l.kind
			}
		}
		s.selector = meta.FormatLabelSelector(sts.Spec.Selector)
		s.pods, err = kube.List[core.Pod](ctx, s.cluster.Cluster, kube.Pods, s.selector)
	}
	for i := 0; i < len(labels) && s.kind == ""; i++ {
		selector := fmt.Sprintf(labels[i].selector, s.name)
		var found []core.Pod
		if found, err = kube.List[core.Pod](ctx, s.cluster.Cluster, kube.Pods, selector); err != nil {
			return err
		}
		if len(found) > 0 {
			s.kind, s.selector, s.pods = labels[i].kind, selector, found
		}
	}
	s.pods = slices.DeleteFunc(s.pods, func(p core.Pod) bool {
		return p.Status.Phase == core.PodSucceeded || p.Status.Phase == core.PodFailed
	})
	if err == nil && len(s.pods) == 0 {
		return fmt.Errorf("%s%s/%s: there is no StatefulSet of this name with pods, and no pod has it in a label. "+
			"See: kubectl get statefulsets,pods --show-labels -n %[2]s", spec.KubernetesScheme, s.cluster.Namespace, s.name)
	}
	slices.SortFunc(s.pods, func(a, b core.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return err
}

// maker is what made pods, by their labels; "" if that is not known.
func maker(l map[string]string) string {
	switch name := l["app.kubernetes.io/name"]; {
	case l["app.kubernetes.io/managed-by"] == "percona-server-mongodb-operator":
		return labels[0].kind
	case strings.HasPrefix(l["helm.sh/chart"], "mongodb-") && (name == "mongodb" || name == "mongodb-sharded"):
		return labels[2].kind
	}
	return ""
}

// port is the port of a pod's server.
func port(p *core.Pod) string {
	var first int32
	for _, c := range p.Spec.Containers {
		for _, o := range c.Ports {
			if strings.HasPrefix(o.Name, "mongo") || o.ContainerPort == 27017 {
				return strconv.Itoa(int(o.ContainerPort))
			}
			first = cmp.Or(first, o.ContainerPort)
		}
	}
	return strconv.Itoa(int(cmp.Or(first, 27017)))
}

// Members are the members by the names of their pods. Their addresses are those by which the cluster knows them.
func (s *Set) Members() (list []spec.PlatformMember) {
	for _, p := range s.pods {
		list = append(list, spec.PlatformMember{Name: p.Name, Address: s.address(&p), Machine: p.Spec.NodeName})
	}
	return list
}

func (s *Set) address(p *core.Pod) string {
	name := p.Name
	if p.Spec.Subdomain != "" {
		name = fmt.Sprintf("%s.%s.%s.svc.cluster.local", cmp.Or(p.Spec.Hostname, p.Name), p.Spec.Subdomain, s.cluster.Namespace)
	}
	return net.JoinHostPort(name, port(p))
}

// helloWithin bounds the query of one member for the name of its replica set.
const helloWithin = 5 * time.Second

// URI is an address of all members, or of the routers if there are some. That of a lab has its user and password, all
// others have no credentials.
func (s *Set) URI(ctx context.Context) (string, error) {
	uri, err := s.withoutLogin(ctx)
	if err != nil {
		return "", err
	}
	return s.access.clients(uri), nil
}

// withoutLogin is the address without credentials.
func (s *Set) withoutLogin(ctx context.Context) (string, error) {
	members := s.Members()
	hellos, problems := make([]server.Hello, len(members)), make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { hellos[i], problems[i] = s.hello(ctx, m.Address) })
	}
	all.Wait()
	return s.uriOf(members, hellos, problems)
}

// uriOf is the address by what the members say. Members that do not answer are part of it.
func (s *Set) uriOf(members []spec.PlatformMember, hellos []server.Hello, problems []error) (string, error) {
	var hosts, routers, sets []string
	var problem error
	for i, m := range members {
		hosts = append(hosts, m.Address)
		switch h := hellos[i]; {
		case problems[i] != nil:
			problem = cmp.Or(problem, fmt.Errorf("%s does not answer: %w", m.Name, problems[i]))
		case h.Router():
			routers = append(routers, m.Address)
		case h.SetName != "" && !slices.Contains(sets, h.SetName):
			sets = append(sets, h.SetName)
		}
	}
	option := ""
	switch {
	case len(routers) > 0:
		hosts = routers
	case len(sets) == 1:
		option = "?replicaSet=" + sets[0]
	case len(sets) == 0 && problem != nil:
		return "", problem
	case len(hosts) == 1:
		option = "?directConnection=true"
	default:
		return "", fmt.Errorf("the members of %[1]s%[2]s/%[3]s are not one replica set and have no routers, so the address to load is not "+
			"known. Give it as the target, with --platform %[1]s%[2]s/%[3]s", spec.KubernetesScheme, s.cluster.Namespace, s.name)
	}
	return "mongodb://" + strings.Join(hosts, ",") + "/" + option, nil
}

func (s *Set) hello(ctx context.Context, address string) (server.Hello, error) {
	id, err := s.identify(ctx, address)
	return id.Hello, err
}

func (s *Set) identify(ctx context.Context, address string) (server.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	c, err := mongo.Connect(options.Client().ApplyURI(s.access.member(address)).
		SetDialer(&dial.Dialer{}).SetServerSelectionTimeout(helloWithin))
	if err != nil {
		return server.Identity{}, err
	}
	defer func() { _ = c.Disconnect(ctx) }() // nothing is under way
	return server.Identify(ctx, server.Driver(c))
}

// route is the [dial.Route] to the members. A member is known by its name in the cluster, with or without the domain,
// and by the address of its pod.
func (s *Set) route(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil
	}
	for i, p := range s.pods {
		f := s.forwards[i]
		name, _, _ := strings.Cut(host, ".")
		rest := strings.TrimPrefix(strings.TrimPrefix(host, name), ".")
		whole := strings.Join([]string{p.Spec.Subdomain, s.cluster.Namespace, "svc"}, ".") + "."
		known := name == p.Name && (rest == "" || p.Spec.Subdomain != "" && strings.HasPrefix(whole, rest+".") ||
			strings.HasPrefix(rest, whole))
		if port == f.remote && (known || host == s.watch.pod(p.Name).ip) {
			return f.local()
		}
	}
	return "", nil
}

// Close ends the ways to the members.
func (s *Set) Close() error {
	s.ending.Do(s.end)
	return nil
}
