package kubernetes_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/kubernetes"
	"github.com/plimsoll-bench/plimsoll/fleet/nats"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// image has the program under test.
const image = "plimsoll:test"

// evictor evicts the pod of an agent on the first node in the middle of the load, and then kills the second node.
type evictor struct {
	t        *testing.T
	cluster  *kubetest.Cluster
	measured int
	evicted  string
	killed   []string // pods on the killed node
}

func (b *evictor) Step(string)         {}
func (b *evictor) Begin(run.Plan)      {}
func (b *evictor) Event(measure.Event) {}
func (b *evictor) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase != load.PhaseMeasure {
		return
	}
	switch b.measured++; b.measured {
	case 2:
		b.evict(kubetest.Nodes[0])
	case 4:
		b.killed = running(b.t, b.cluster, kubetest.Nodes[1])
		b.cluster.Kill(kubetest.Nodes[1])
	}
}

// running lists the running agents of a node.
func running(t *testing.T, c *kubetest.Cluster, node string) (names []string) {
	list, err := c.Client.CoreV1().Pods("default").List(context.Background(), meta.ListOptions{
		LabelSelector: "app.kubernetes.io/name=plimsoll-agents", FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, p := range list.Items {
		if p.Status.Phase == core.PodRunning && p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

func (b *evictor) evict(node string) {
	names := running(b.t, b.cluster, node)
	if len(names) == 0 {
		b.t.Errorf("no agent runs on %s", node)
		return
	}
	b.evicted = names[0]
	err := b.cluster.Client.CoreV1().Pods("default").EvictV1(context.Background(),
		&policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: b.evicted, Namespace: "default"}})
	if err != nil {
		b.t.Error(err)
	}
}

// serve runs the open engine in the foreground until the end of the test, and returns its address.
func serve(t *testing.T, program, home string) string {
	t.Helper()
	cmd := exec.Command(program, "engine", "run", engine.DocumentDB)
	cmd.Env, cmd.Stderr = append(os.Environ(), "PLIMSOLL_HOME="+home), t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = childproc.Start(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// outside starts the open engine on this machine, outside of the cluster, and returns its address for pods. The engine
// listens on loopback only, so the test forwards connections to it.
func outside(t *testing.T, program string, e engine.Engine) string {
	t.Helper()
	inst, err := e.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(serve(t, program, enginetest.Home(t, filepath.Dir(filepath.Dir(inst.Path)))))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", kubetest.Machine+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func(to string) {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go forward(in, to)
		}
	}(at.Host)
	at.Host = listener.Addr().String()
	return at.String()
}

// forward copies in both directions until one side ends.
func forward(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return // the client sees that its connection ends
	}
	defer out.Close()
	ended := make(chan error, 2)
	for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
		go func() {
			_, err := io.Copy(to, from)
			ended <- err
		}()
	}
	<-ended
}

// TestAgentsOnKubernetes shares a cluster between its parts. The last one kills a node.
func TestAgentsOnKubernetes(t *testing.T) {
	program, archive, ok := kubetest.Plimsoll(t, image)
	if !ok {
		return
	}
	c, ok := kubetest.Start(t)
	if !ok {
		return
	}
	t.Run("reasons", func(t *testing.T) { testReasons(t, c) })
	e, ok := enginetest.DocumentDB(t)
	if !ok {
		return
	}
	c.Load(t, archive)
	address := outside(t, program, e)
	t.Run("resumed", func(t *testing.T) { testResumed(t, c, program, address) })
	t.Run("lost", func(t *testing.T) { testLost(t, c, address) })
}

// testLost loads the open engine outside of the cluster from four agents on two nodes. One pod is evicted and one node
// is killed during the run. The run continues without them, and the record says what happened.
func testLost(t *testing.T, c *kubetest.Cluster, address string) {
	coordinator, err := nats.Open(t.Context(), nats.Options{Dir: t.TempDir(), Listen: kubetest.Machine + ":0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(coordinator.Close)
	cluster, err := kubernetes.Connect(c.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	const cpu = "700m" // of two cores: there are two agents on each node
	agents := kubernetes.New(cluster, kubernetes.Settings{Image: image, CPU: cpu, Memory: "256Mi"}, coordinator)

	asked := spec.Run{Target: address, Workload: spec.Workload{Name: "a", Records: 100}}
	asked.Load.Clients, asked.Load.Place, asked.Load.Workers, asked.Load.Pace = 4, spec.PlaceKubernetes, 8, 10
	asked.Load.Duration = spec.Duration(40 * time.Second)
	asked.Defaults()
	b := &evictor{t: t, cluster: c}
	dir := filepath.Join(t.TempDir(), "record")
	ctx, cancel := context.WithTimeout(t.Context(), kubetest.Limit)
	defer cancel()
	_, err = fleet.Execute(ctx, asked, run.Options{Dir: dir, Progress: b},
		fleet.Options{Places: func(string) (fleet.Placer, error) { return agents, nil }})
	if err != nil {
		t.Fatal(err)
	}
	checkLost(t, dir, b)

	if err := agents.End(); err != nil {
		t.Error(err)
	}
	// The pods of the killed node stay.
	c.Await(t, "namespace without Jobs and Secrets of agents", func(ctx context.Context) bool {
		all := meta.ListOptions{LabelSelector: "app.kubernetes.io/name=plimsoll-agents"}
		jobs, err1 := c.Client.BatchV1().Jobs("default").List(ctx, all)
		secrets, err2 := c.Client.CoreV1().Secrets("default").List(ctx, all)
		return err1 == nil && err2 == nil && len(jobs.Items)+len(secrets.Items) == 0
	})
}

// testResumed kills the command of a run. Its pods continue, and another command completes the run and removes them.
func testResumed(t *testing.T, c *kubetest.Cluster, program, address string) {
	home := t.TempDir()
	dir := filepath.Join(home, "record")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, append(args, "--kubeconfig", c.Kubeconfig, "--quiet")...)
		cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+home)
		cmd.Stderr = os.Stderr
		return cmd
	}
	first := command("run", address, "--agents", "2", "--place", "kubernetes", "--agent-image", image, "--agent-cpu", "500m",
		"--agent-memory", "256Mi", "--agents-listen", kubetest.Machine+":0", "--records", "100", "--threads", "4", "--pace", "10",
		"--duration", "20s", "--out", dir)
	if err := childproc.Start(first); err != nil {
		t.Fatal(err)
	}
	c.Await(t, "measured operations in the record", func(context.Context) bool {
		r, err := record.OpenRun(dir)
		return err == nil && r.Phase(load.PhaseMeasure) != nil && r.Phase(load.PhaseMeasure).Counts.Succeeded > 0
	})
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	var pods []string
	for _, node := range kubetest.Nodes {
		pods = append(pods, running(t, c, node)...)
	}
	slices.Sort(pods)
	out, err := command("run", "--resume", dir).Output()
	// A busy machine makes the result invalid.
	if exit := new(exec.ExitError); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 6) {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	var agents []string
	for _, client := range r.Clients {
		agents = append(agents, client.Agent)
		if client.Status != "complete" {
			t.Errorf("client %+v", client)
		}
	}
	if len(pods) != 2 || !slices.Equal(agents, pods) || r.Status != record.Complete ||
		r.Phase(load.PhaseMeasure).Seconds < 15 {
		t.Errorf("the run is %s after %v s, its agents are %v and the pods %v", r.Status, r.Phase(load.PhaseMeasure).Seconds,
			agents, pods)
	}
	if !slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "coordinator-away" }) {
		t.Errorf("the record does not say what the coordinator did not see: %+v", r.Validity)
	}
	noAgents(t, c)
}

// checkLost checks that the record has exactly the agents that were ended as lost.
func checkLost(t *testing.T, dir string, b *evictor) {
	t.Helper()
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != record.Complete || len(r.Clients) != 4 || len(b.killed) != 2 {
		t.Fatalf("the run is %s with the clients %+v; on the killed node were %v", r.Status, r.Clients, b.killed)
	}
	for _, client := range r.Clients {
		want, problem := "complete", ""
		switch {
		case client.Agent == b.evicted:
			want, problem = "lost", "by a signal or an eviction: the cluster ended its pod (EvictionByEvictionAPI: "
		case slices.Contains(b.killed, client.Agent):
			want, problem = "lost", "it did not respond for 30 s: its node "+kubetest.Nodes[1]+" is not ready ("
		}
		if !strings.Contains(client.Problem, problem) {
			t.Errorf("client %s was lost because %q, want %q", client.Agent, client.Problem, problem)
		}
		if client.Status != want || client.Host == "" || (want != "complete") != (client.LostAt > 0) {
			t.Errorf("client %+v, want it to be %s", client, want)
		}
	}
	found := false
	for _, f := range r.Validity {
		if f.ID == "client-lost" {
			found = strings.Contains(f.Text, "EvictionByEvictionAPI") && strings.Contains(f.Text, "is not ready")
			t.Log(f.Text)
		}
	}
	if !found || r.Phase(load.PhaseMeasure).Counts.Succeeded == 0 || r.Target.Kind != "ferretdb" {
		t.Errorf("no finding client-lost in %+v", r.Validity)
	}
}
