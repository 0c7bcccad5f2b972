package kubetest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	api "k8s.io/apimachinery/pkg/api/meta"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/gobuild"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Limit is how long a state of a cluster may take on a busy machine.
const Limit = 5 * time.Minute

// Nodes are the names of a cluster's nodes.
var Nodes = []string{"n1", "n2"}

// Machine is the address of this machine in the cluster's network, which pods reach.
const Machine = machineAddress

// Cluster is a Kubernetes that ends with the test.
type Cluster struct {
	Kubeconfig string // the file of the administrator
	Client     kubernetes.Interface
	programs   programs
	dir        string
	groups     groups
	network    *namespace
	control    []*process.Process
	nodes      map[string]*node
	storage    trouble
}

type node struct {
	network *namespace
	first   *process.Process // the others end with it
}

// Start starts a cluster and waits for its nodes. If the programs are not installed, ok is false, and the test fails if
// they are required. If another test has a cluster, Start waits for its end.
func Start(t testing.TB) (c *Cluster, ok bool) {
	t.Helper()
	p, ok := installed(t)
	if !ok {
		return nil, false
	}
	unlock, err := filelock.Await(t.Context(), filepath.Join(p.cache, "lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
	c = &Cluster{programs: p, dir: filepath.Join(p.cache, "run"), nodes: map[string]*node{},
		groups: findGroups("/sys/fs/cgroup", "plimsoll-kubetest")}
	if err := c.remove(); err != nil {
		t.Fatalf("cannot remove an earlier cluster: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
		if err := c.stop(); err != nil {
			t.Errorf("cannot remove the cluster: %v", err)
		}
	})
	if err := c.start(t); err != nil {
		t.Fatalf("cannot start Kubernetes: %v", err)
	}
	return c, true
}

// installed returns the programs of clusters. If this machine cannot run them, ok is false.
func installed(t testing.TB) (p programs, ok bool) {
	t.Helper()
	if notrun.Left(t, "on Kubernetes") {
		return p, false
	}
	p, _, err := find()
	if err != nil {
		t.Fatal(err)
	}
	var why string
	if missing := p.missing(); missing != "" {
		why = missing + " is missing: go run ./internal/kubetest/install"
	} else if os.Geteuid() != 0 {
		why = "only root can run a cluster"
	}
	if why != "" && os.Getenv("PLIMSOLL_REQUIRE_KUBERNETES") == "1" {
		t.Fatal(why)
	}
	if why != "" {
		notrun.Here(t, "on Kubernetes: %s", why)
	}
	return p, why == ""
}

func (c *Cluster) start(t testing.TB) error {
	// The client of Kubernetes keeps the authority of a file that it read once in this process, so each cluster has files
	// of other names.
	pki := filepath.Join(c.dir, "pki-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := errors.Join(os.MkdirAll(pki, 0o700), os.Mkdir(filepath.Join(c.dir, "storage"), 0o700), c.certify(pki)); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(pki, "admin.kubeconfig")
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.network, err = newSwitch(); err != nil {
		return err
	}
	if err := c.serveDNS(t); err != nil {
		return err
	}
	if err := c.groups.make("control"); err != nil {
		return err
	}
	if err := c.startControl(pki); err != nil {
		return err
	}
	for i := range Nodes {
		if err := c.startNode(i, pki); err != nil {
			return err
		}
	}
	return c.await("two nodes and the default service account", c.ready)
}

// ready says whether pods can start on both nodes: a node that is just ready has a taint for a moment.
func (c *Cluster) ready(ctx context.Context) bool {
	list, err := c.Client.CoreV1().Nodes().List(ctx, meta.ListOptions{})
	if err != nil || len(list.Items) < len(Nodes) {
		return false
	}
	for _, n := range list.Items {
		if len(n.Spec.Taints) > 0 || Ready(&n) != core.ConditionTrue {
			return false
		}
	}
	_, err = c.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", meta.GetOptions{})
	return err == nil
}

// Ready is the condition Ready of a node. That of a node that was lost is unknown.
func Ready(n *core.Node) core.ConditionStatus {
	for _, condition := range n.Status.Conditions {
		if condition.Type == core.NodeReady {
			return condition.Status
		}
	}
	return core.ConditionUnknown
}

// await waits until is returns true. If a component of the control plane ends meanwhile, or a volume cannot be made, it
// fails.
func (c *Cluster) await(what string, is func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	for !is(ctx) {
		last, final := c.storage.known()
		if final {
			return fmt.Errorf("no %s: %w", what, last)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("no %s after %v", what, Limit), last)
		case <-time.After(100 * time.Millisecond):
		}
		if slices.ContainsFunc(c.control, func(p *process.Process) bool { return !p.Running() }) {
			return fmt.Errorf("no %s, because a component has ended", what)
		}
	}
	return nil
}

func (c *Cluster) certify(pki string) error {
	a, err := newAuthority(pki)
	if err != nil {
		return err
	}
	err = errors.Join(
		a.issue("apiserver", "", "kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"localhost", "127.0.0.1", controlAddress, serviceAddress),
		a.issue("accounts", "", "service-accounts"),
	)
	users := [][3]string{
		{"admin", "system:masters", "admin"}, {"manager", "", "system:kube-controller-manager"},
		{"scheduler", "", "system:kube-scheduler"},
	}
	for _, u := range users {
		err = errors.Join(err, a.issue(u[0], u[1], u[2]), a.kubeconfig(u[0]))
	}
	for i, n := range Nodes {
		err = errors.Join(err, a.issue(n, "system:nodes", "system:node:"+n, n, nodeAddress(i)), a.kubeconfig(n))
	}
	return err
}

func (c *Cluster) startControl(pki string) error {
	file := func(name string) string { return filepath.Join(pki, name) }
	user := func(name string) []string {
		f := file(name + ".kubeconfig")
		return []string{"--kubeconfig=" + f, "--authentication-kubeconfig=" + f, "--authorization-kubeconfig=" + f,
			"--cert-dir=" + filepath.Join(c.dir, name), "--bind-address=127.0.0.1", "--leader-elect=false"}
	}
	const store, peers = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	err := errors.Join(
		c.component("etcd", "--name=e", "--data-dir="+filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync",
			"--listen-client-urls="+store, "--advertise-client-urls="+store, "--listen-peer-urls="+peers,
			"--initial-advertise-peer-urls="+peers, "--initial-cluster=e="+peers),
		c.component("kube-apiserver", "--etcd-servers="+store, "--bind-address=0.0.0.0", "--secure-port=443",
			"--advertise-address="+controlAddress, "--cert-dir="+filepath.Join(c.dir, "apiserver"),
			"--tls-cert-file="+file("apiserver.crt"), "--tls-private-key-file="+file("apiserver.key"),
			"--client-ca-file="+file("ca.crt"), "--kubelet-certificate-authority="+file("ca.crt"),
			"--kubelet-client-certificate="+file("admin.crt"), "--kubelet-client-key="+file("admin.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file="+file("accounts.key"),
			"--service-account-signing-key-file="+file("accounts.key"), "--service-cluster-ip-range="+serviceNetwork,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--default-not-ready-toleration-seconds=2", "--default-unreachable-toleration-seconds=2", "--profiling=false"),
	)
	if err != nil {
		return err
	}
	answers := func(ctx context.Context) bool {
		_, err := c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil
	}
	if err := c.await("answer of the API server", answers); err != nil {
		return err
	}
	return errors.Join(
		c.component("kube-controller-manager", append(user("manager"), "--use-service-account-credentials",
			"--flex-volume-plugin-dir="+filepath.Join(c.dir, "flex"), "--root-ca-file="+file("ca.crt"),
			"--service-account-private-key-file="+file("accounts.key"),
			"--node-monitor-period=1s", "--node-monitor-grace-period=16s")...),
		c.component("kube-scheduler", user("scheduler")...),
	)
}

// component starts a part of the control plane.
func (c *Cluster) component(name string, args ...string) error {
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	p, err := process.Start(permit.With(context.Background(), permit.All), process.Spec{
		Role: name, Path: c.programs.cube, Args: append([]string{name}, args...), Log: log,
		Place: c.groups.place("control", c.network),
	})
	if err == nil {
		c.control = append(c.control, p)
	}
	return err
}

//go:embed node.sh
var script string

func (c *Cluster) startNode(i int, pki string) error {
	name := Nodes[i]
	network, err := newNamespace()
	if err != nil {
		return err
	}
	n := &node{network: network}
	c.nodes[name] = n
	if err := c.network.cable(nil, network, "eth0", name); err != nil {
		return err
	}
	err = errors.Join(
		address(network.handle, "eth0", nodeAddress(i)+"/24"),
		route(network.handle, "", controlAddress, "eth0"),
		route(network.handle, pods[1-i], nodeAddress(1-i), "eth0"),
		c.groups.make(name),
		c.groups.make(name+"/system"),
	)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	n.first, err = process.Start(permit.With(context.Background(), permit.All), process.Spec{
		Role: "node " + name, Path: "/bin/bash", Log: log,
		Args: []string{"-c", script, "node.sh", name, filepath.Join(c.dir, name), pki, c.programs.debs, pauseImage,
			c.programs.cube, nodeAddress(i), pods[i], "/" + c.groups.name + "/" + name,
			c.programs.driver, filepath.Join(c.dir, "storage"), machineAddress},
		Place:   c.groups.place(name+"/system", network),
		Sandbox: &process.Sandbox{},
	})
	return err
}

// Load loads the images of archives into both nodes, and waits until they are ready: a busy machine delays their signs
// of life meanwhile.
func (c *Cluster) Load(t testing.TB, archives ...string) {
	t.Helper()
	loaded := make(chan error, len(c.nodes))
	for _, n := range c.nodes {
		go func() {
			socket := fmt.Sprintf("/proc/%d/root/run/containerd/containerd.sock", n.first.PID)
			var err error
			for _, archive := range archives {
				err = errors.Join(err, run(exec.Command(filepath.Join(c.programs.debs, "usr/bin/ctr"), "-a", socket, "-n", "k8s.io",
					"images", "import", archive)))
			}
			loaded <- err
		}()
	}
	var err error
	for range c.nodes {
		err = errors.Join(err, <-loaded)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Await(t, "two nodes that are ready", c.ready)
}

// Kill ends a node like a loss of power: all its processes end at once.
func (c *Cluster) Kill(node string) {
	p := c.nodes[node].first
	p.Signal(syscall.SIGKILL)
	<-p.Done
}

// Restart starts a node again that was killed, with its disk as it was, and waits until pods can start on it.
func (c *Cluster) Restart(t testing.TB, node string) {
	t.Helper()
	c.nodes[node].network.close()
	err := c.network.remove(node)
	if err == nil {
		err = c.startNode(slices.Index(Nodes, node), filepath.Dir(c.Kubeconfig))
	}
	if err != nil {
		t.Fatalf("cannot start %s again: %v", node, err)
	}
	c.Await(t, "two nodes that are ready", c.ready)
}

// Kubelet is the process of a node's kubelet. While it is stopped, Kubernetes loses the node, whose pods run on and are
// reached.
func (c *Cluster) Kubelet(t testing.TB, node string) (pid int) {
	t.Helper()
	for _, pid := range process.Descendants(c.nodes[node].first.PID) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		if strings.HasPrefix(string(line), c.programs.cube+"\x00kubelet\x00") {
			return pid
		}
	}
	t.Fatalf("no kubelet runs on %s", node)
	return 0
}

// Cut takes the cable of a node out.
func (c *Cluster) Cut(t testing.TB, node string) {
	t.Helper()
	if err := c.network.down(node); err != nil {
		t.Fatal(err)
	}
}

// Mend puts the cable of a node in again.
func (c *Cluster) Mend(t testing.TB, node string) {
	t.Helper()
	if err := c.network.up(node); err != nil {
		t.Fatal(err)
	}
}

// Await waits for a state of the cluster.
func (c *Cluster) Await(t testing.TB, what string, is func(context.Context) bool) {
	t.Helper()
	if err := c.await(what, is); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) stop() error {
	for _, n := range c.nodes {
		if n.first != nil {
			n.first.Signal(syscall.SIGKILL)
			<-n.first.Done
		}
		n.network.close()
	}
	for _, p := range c.control {
		p.Kill()
	}
	if c.network != nil {
		c.network.close()
	}
	return c.remove()
}

// remove removes what is left on disk, in control groups and of the network, of this cluster or of one whose test was
// killed.
func (c *Cluster) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	return errors.Join(unplug(), host.RemoveGroups(ctx, c.groups.left()), process.RemoveTree(c.dir))
}

// logs are the last lines of all logs.
func (c *Cluster) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.log")) // the pattern is right
	for _, f := range files {
		fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(f), process.LogTail(f))
	}
	return b.String()
}

// Plimsoll builds the program of this module, and an archive with its image of the given name. If clusters cannot run,
// ok is false. It is called before [Start], so that no cluster waits for a compiler.
func Plimsoll(t testing.TB, name string) (program, archive string, ok bool) {
	t.Helper()
	p, ok := installed(t)
	if !ok {
		return "", "", false
	}
	program = Program(t)
	archive = filepath.Join(t.TempDir(), "image.tar")
	if err := p.image(archive, name, program); err != nil {
		t.Fatal(err)
	}
	return program, archive, true
}

// Program builds the program of this module.
func Program(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "plimsoll")
	if err := gobuild.Program(program, "cmd/plimsoll"); err != nil {
		t.Fatal(err)
	}
	return program
}

// Apply creates the objects of a text in YAML in the namespace default.
func (c *Cluster) Apply(t testing.TB, text string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		kind := o.GroupVersionKind()
		to, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		var where dynamic.ResourceInterface = client.Resource(to.Resource)
		if to.Scope.Name() == api.RESTScopeNameNamespace {
			where = client.Resource(to.Resource).Namespace("default")
		}
		if _, err := where.Create(t.Context(), o, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
