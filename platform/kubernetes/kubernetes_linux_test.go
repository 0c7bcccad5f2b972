package kubernetes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// bed is the open engine in a real Kubernetes. Its volume must be attached to the node of its pod.
type bed struct {
	*kubetest.Cluster
	set      *kubernetes.Set
	platform *platform.Deployment
	journals string
	home     string // of the program
	client   *mongo.Client
	plimsoll string // the program
	written  int
}

// engineImage is the image of the open engine.
const engineImage = "registry.local/documentdb:1"

// plimsollImage is the image of agents.
const plimsollImage = "registry.local/plimsoll:1"

func newBed(t *testing.T) (*bed, bool) {
	engine, ok := enginetest.DocumentDB(t)
	if !ok {
		return nil, false
	}
	installed, err := engine.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(installed.Path, "root")
	image := kubetest.Image(t, engineImage, root, map[string]string{
		"usr/local/bin/ferretdb": filepath.Join(root, "plimsoll/bin/ferretdb"),
		"usr/local/bin/start.sh": filepath.Join(example, "image/start.sh")})
	b := &bed{plimsoll: kubetest.Program(t), home: t.TempDir(), journals: filepath.Join(t.TempDir(), "journals")}
	agent := kubetest.Image(t, plimsollImage, t.TempDir(), map[string]string{"plimsoll": b.plimsoll}, "/plimsoll")
	if b.Cluster, ok = kubetest.Start(t); !ok {
		return nil, false
	}
	b.Load(t, image)
	b.Load(t, agent)
	b.Storage(t)
	b.member(t, "reattached", kubetest.Disk)
	o := kubernetes.Options{Target: "k8s:default/reattached", Kubeconfig: b.Kubeconfig}
	if b.set, err = kubernetes.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	uri, err := b.set.URI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.platform, err = platform.NewDeployment(platform.DeploymentOptions{URI: uri, Members: b.set.Members(),
		Journals: b.journals, Breakers: []platform.Breaker{b.set}})
	if err != nil {
		t.Fatal(err)
	}
	b.client, err = mongo.Connect(options.Client().ApplyURI(uri).SetDialer(&dial.Dialer{}).
		SetTimeout(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.client.Disconnect(context.Background()) })
	return b, true
}

// example is the directory of the example.
const example = "../../examples/failover-kubernetes"

// member applies the member of the example, and waits until it is ready.
func (b *bed) member(t *testing.T, name, class string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example, "member.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.Apply(t, strings.NewReplacer("NAME", name, "CLASS", class, "IMAGE", engineImage).Replace(string(text)))
	b.Await(t, "member that is ready", func(ctx context.Context) bool { return b.ready(ctx, name) })
}

func (b *bed) ready(ctx context.Context, name string) bool {
	p, err := b.Client.CoreV1().Pods("default").Get(ctx, name+"-0", meta.GetOptions{})
	return err == nil && b.podReady(p)
}

func (b *bed) podReady(p *core.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c core.PodCondition) bool {
		return c.Type == core.PodReady && c.Status == core.ConditionTrue
	})
}

// node is where the member is.
func (b *bed) node(t *testing.T) string {
	t.Helper()
	p, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "reattached-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Spec.NodeName
}

// write writes documents until ten more are acknowledged, journal included.
func (b *bed) write(t *testing.T) {
	t.Helper()
	db := b.client.Database("test")
	for n := b.written + 10; b.written < n; {
		err := db.RunCommand(t.Context(), bson.D{{Key: "insert", Value: "c"},
			{Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: b.written}}}},
			{Key: "writeConcern", Value: bson.D{{Key: "j", Value: true}}}}).Err()
		switch {
		case err == nil || mongo.IsDuplicateKeyError(err):
			b.written++
		case t.Context().Err() != nil:
			t.Fatal(err)
		}
	}
}

// count waits until the member answers, and counts the documents.
func (b *bed) count(t *testing.T) {
	t.Helper()
	var n int64
	b.Await(t, "answer of the member", func(ctx context.Context) bool {
		var err error
		n, err = b.client.Database("test").Collection("c").CountDocuments(ctx, bson.D{})
		return err == nil
	})
	if n != int64(b.written) {
		t.Errorf("%d documents are there, and %d were acknowledged", n, b.written)
	}
}

// inject injects a fault and verifies it.
func (b *bed) inject(t *testing.T, f spec.Fault) (platform.Injector, platform.Injection) {
	t.Helper()
	i, err := b.platform.Fault(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), kubetest.Limit)
	defer cancel()
	known, err := i.Verify(ctx)
	if err != nil || !known.Hit || known.Disputed {
		t.Fatalf("%+v, %v", known, err)
	}
	t.Log(known.Evidence)
	return i, known
}

func fault(text string) spec.Fault { return spec.Fault{Strike: spec.ParseStrike(text)} }

// TestFaultsOnKubernetes breaks a server in a real Kubernetes in each way of its API. All acknowledged writes survive.
func TestFaultsOnKubernetes(t *testing.T) {
	b, ok := newBed(t)
	if !ok {
		return
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, *bed)
	}{{"pod deleted", testDeleted}, {"whole command", testCommand}, {"node drained", testDrained},
		{"drill killed", testDrillKilled}, {"volume detached", testDetached}, {"Chaos Mesh", testChaosMesh}, {"example", testExample},
		// Each of the last two attaches a volume to a node while another one uses it, which may damage it.
		{"node killed", testNodeKilled}, {"two writers", testTwoWriters}, {"node cut off and out of service", testCutOff}} {
		if !t.Run(c.name, func(t *testing.T) { c.test(t, b) }) {
			break
		}
	}
	if err := b.platform.Close(); err != nil {
		t.Error(err)
	}
}

func testDeleted(t *testing.T, b *bed) {
	b.write(t)
	for text, manner := range map[string]string{"pod-delete:reattached-0": record.MannerPlanned, "pod-kill:standalone": record.MannerCrash} {
		began := time.Now()
		_, known := b.inject(t, fault(text))
		if known.Target != "reattached-0" || known.Manner != manner || known.Lasts || known.TakesDown {
			t.Errorf("%s: %+v", text, known)
		}
		if c := known.Commands[0]; !c.Request || !strings.Contains(c.Text, "delete pod reattached-0") {
			t.Errorf("%s: %+v", text, c)
		}
		b.count(t)
		t.Log(text, "ready after", time.Since(began))
		b.write(t)
	}
	if left, err := platform.Left(b.journals); err != nil || len(left) > 0 {
		t.Errorf("the journal has %v, %v", left, err)
	}
}

// other is the node where the member is not.
func other(node string) string {
	if node == kubetest.Nodes[0] {
		return kubetest.Nodes[1]
	}
	return kubetest.Nodes[0]
}

// A drained node loses its member to the other one. What a killed process leaves behind is reverted by the journal.
func testDrained(t *testing.T, b *bed) {
	from := b.node(t)
	i, known := b.inject(t, fault("node-drain:reattached-0"))
	if known.Target != from || !known.Lasts || known.TakesDown {
		t.Errorf("%+v", known)
	}
	b.count(t)
	if on := b.node(t); on == from {
		t.Errorf("the member is on %s as before", on)
	}
	members, err := b.platform.Members(t.Context())
	if err != nil || members[0].Host != other(from) || members[0].Role != "standalone" {
		t.Errorf("%+v, %v", members, err)
	}
	left, err := platform.Left(b.journals)
	if err != nil || len(left) != 1 || left[0].Kind != kubernetes.Kind {
		t.Fatalf("the journal has %+v, %v", left, err)
	}
	step, err := platform.Healers{kubernetes.Kind: kubernetes.Healer{}}.Step(left[0])
	if err != nil || !strings.HasSuffix(step.Text, "uncordon "+from) {
		t.Fatalf("%+v, %v", step, err)
	}
	if _, err := step.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if n := b.get(t, from); n.Spec.Unschedulable {
		t.Errorf("%s is still cordoned", from)
	}
	if _, err := i.Heal(t.Context()); err != nil { // it is reverted already
		t.Error(err)
	}
}

// get reads a node.
func (b *bed) get(t *testing.T, node string) *core.Node {
	t.Helper()
	n, err := b.Client.CoreV1().Nodes().Get(t.Context(), node, meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The attachment of the volume is deleted, and Kubernetes attaches the volume again.
func testDetached(t *testing.T, b *bed) {
	if _, known := b.inject(t, fault("volume-detach:reattached-0")); known.Manner != record.MannerDisk || known.Lasts {
		t.Errorf("%+v", known)
	}
	b.count(t)
}

// chaosMesh has the custom resources of Chaos Mesh as its documentation describes them, and says of each object that it
// is injected. It injects nothing: the real one cannot run on this cluster.
func (b *bed) chaosMesh(t *testing.T) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for kind, plural := range map[string]string{"PodChaos": "podchaos", "NetworkChaos": "networkchaos"} {
		crd := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": plural + ".chaos-mesh.org"},
			"spec": map[string]any{"group": "chaos-mesh.org", "scope": "Namespaced",
				"names": map[string]any{"kind": kind, "plural": plural, "singular": plural},
				"versions": []any{map[string]any{"name": "v1alpha1", "served": true, "storage": true,
					"subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
						"x-kubernetes-preserve-unknown-fields": true}}}},
			}}}
		if _, err := client.Resource(crds).Create(t.Context(), crd, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r := schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: plural}
		b.Await(t, kind, func(ctx context.Context) bool {
			_, err := client.Resource(r).List(ctx, meta.ListOptions{})
			return err == nil
		})
	}
	return client
}

func testChaosMesh(t *testing.T, b *bed) {
	delay := fault("pod-delay:reattached-0")
	delay.Delay = spec.Duration(20 * time.Millisecond)
	i, err := b.platform.Fault(delay, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Inject(t.Context()); err == nil || !strings.Contains(err.Error(), "this cluster does not have it") {
		t.Errorf("without Chaos Mesh: %v", err)
	}
	client := b.chaosMesh(t)
	r := schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: "networkchaos"}
	objects := client.Resource(r).Namespace("default")
	ctx, cancel := context.WithCancel(t.Context())
	var controller sync.WaitGroup
	defer controller.Wait()
	defer cancel()
	specs := make(chan any, 1)
	controller.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			all, err := objects.List(ctx, meta.ListOptions{LabelSelector: "plimsoll-platform=fault"})
			if err != nil || len(all.Items) == 0 {
				continue
			}
			o := all.Items[0]
			o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "AllInjected", "status": "True"}}}
			if _, err := objects.UpdateStatus(ctx, &o, meta.UpdateOptions{}); err == nil {
				specs <- o.Object["spec"]
				return
			}
		}
	})
	heal, known := b.inject(t, delay)
	if known.Manner != record.MannerSlow || !known.Lasts {
		t.Errorf("%+v", known)
	}
	want := map[string]any{"action": "delay", "mode": "all", "delay": map[string]any{"latency": "20ms"},
		"selector": map[string]any{"pods": map[string]any{"default": []any{"reattached-0"}}}}
	if diff := cmp.Diff(want, <-specs); diff != "" {
		t.Error(diff)
	}
	if _, err := heal.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if all, err := objects.List(t.Context(), meta.ListOptions{}); err != nil || len(all.Items) > 0 {
		t.Errorf("left are %v, %v", all, err)
	}
}

// A node that is cut off keeps its pod, so a StatefulSet starts no other. With the taint it does.
func testCutOff(t *testing.T, b *bed) {
	b.write(t)
	from := b.node(t)
	b.Cut(t, from)
	b.lost(t, from)
	i := b.leave(t, from)
	b.Mend(t, from) // the old server ends
	b.count(t)
	b.back(t, from, i)
}

// A node that lost power is the same to Kubernetes.
func testNodeKilled(t *testing.T, b *bed) {
	b.write(t)
	from := b.node(t)
	b.Kill(from)
	b.lost(t, from)
	i := b.leave(t, from)
	b.count(t)
	b.back(t, from, i)
	b.Restart(t, from)
}

// lost waits until a node counts as lost and its pod is being deleted. No other pod replaces it.
func (b *bed) lost(t *testing.T, node string) {
	t.Helper()
	b.Await(t, "node that is lost, with a pod that is being deleted", func(ctx context.Context) bool {
		n, err := b.Client.CoreV1().Nodes().Get(ctx, node, meta.GetOptions{})
		p, podErr := b.Client.CoreV1().Pods("default").Get(ctx, "reattached-0", meta.GetOptions{})
		return err == nil && podErr == nil && kubetest.Ready(n) == core.ConditionUnknown && p.DeletionTimestamp != nil &&
			p.Spec.NodeName == node
	})
}

// leave sets the taint, and waits until the pod is on the other node.
func (b *bed) leave(t *testing.T, from string) platform.Injector {
	t.Helper()
	i, known := b.inject(t, fault("node-out-of-service:reattached-0"))
	if known.Target != from || !known.Lasts {
		t.Errorf("%+v", known)
	}
	b.Await(t, "pod on the other node", func(ctx context.Context) bool {
		p, err := b.Client.CoreV1().Pods("default").Get(ctx, "reattached-0", meta.GetOptions{})
		return err == nil && p.Spec.NodeName == other(from) && b.ready(ctx, "reattached")
	})
	return i
}

// back removes the taint.
func (b *bed) back(t *testing.T, from string, i platform.Injector) {
	t.Helper()
	if known, err := i.Heal(t.Context()); err != nil || known.Healed.IsZero() {
		t.Errorf("%+v, %v", known, err)
	}
	for _, taint := range b.get(t, from).Spec.Taints {
		if taint.Key == core.TaintNodeOutOfService {
			t.Errorf("%s still has the taint", from)
		}
	}
}

// run runs the program. Its agents are pods.
func (b *bed) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(b.plimsoll, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "PLIMSOLL_HOME="+b.home)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// agents are the flags of the program for agents in pods.
var agents = []string{"--agents-listen", kubetest.Machine + ":0", "--agent-image", plimsollImage, "--agent-cpu", "200m",
	"--agent-memory", "256Mi"}

// What a drill has broken that was killed in the middle is reverted by the next command.
func testDrillKilled(t *testing.T, b *bed) {
	from := b.node(t)
	cmd := exec.Command(b.plimsoll, "drill", "k8s:default/reattached", "--fault", "node-drain:standalone", "--at", "1s",
		"--duration", "1h", "--rate", "20", "--quiet", "--yes-break-it", "--out", filepath.Join(t.TempDir(), "record"))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "PLIMSOLL_HOME="+b.home)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.Await(t, "pod on the other node", func(ctx context.Context) bool {
		p, err := b.Client.CoreV1().Pods("default").Get(ctx, "reattached-0", meta.GetOptions{})
		return err == nil && p.Spec.NodeName == other(from)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if code, out := b.run(t, "platform", "status"); code != 0 || !strings.Contains(out, "uncordon "+from) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := b.run(t, "platform", "heal"); code != 0 || b.get(t, from).Spec.Unschedulable {
		t.Errorf("exit code %d, %s is cordoned: %t\n%s", code, from, b.get(t, from).Spec.Unschedulable, out)
	}
	if code, out := b.run(t, "platform", "heal"); code != 0 || !strings.Contains(out, "no fault is in the journal") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	b.count(t)
}

// The example runs through a REST service in the pod of an agent. Nothing is broken without a yes.
func testExample(t *testing.T, b *bed) {
	b.member(t, "replicated", kubetest.Mirrored)
	names := []string{"reattached", "replicated"}
	if b.replicaSet(t) {
		names = append(names, "replica-set")
	}
	folder, out := t.TempDir(), filepath.Join(t.TempDir(), "suite")
	for _, name := range []string{"suite.yaml", "reattached.yaml", "replicated.yaml", "replica-set.yaml"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		parts := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool {
			return len(names) < 3 && strings.Contains(line, "replica-set.yaml")
		})
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(parts, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := append([]string{"suite", "run", folder, "--smoke", "--quiet", "--out", out}, agents...)
	if code, text := b.run(t, command...); code != 2 || !strings.Contains(text, "drain") || !strings.Contains(text, "--yes-break-it") {
		t.Fatalf("without a yes: exit code %d\n%s", code, text)
	}
	code, text := b.run(t, append(command, "--yes-break-it")...)
	t.Log(text)
	for _, name := range names {
		d, err := record.OpenDrill(filepath.Join(out, "parts", name))
		if err != nil {
			t.Fatalf("exit code %d: %v\n%s", code, err, text)
		}
		r := d.Rounds[0]
		// A busy machine acknowledges too little in a second to say that nothing was lost.
		if d.Verdict == record.Violated || !r.Faults[0].Hit || r.Kubernetes == nil || r.SeedsFound != r.Seeds {
			t.Errorf("%s: %s %v, %+v", name, d.Verdict, d.Reasons, r.Faults)
		}
		for _, kind := range []string{record.MomentPodDeleted, record.MomentPodPlaced, record.MomentPodStarted} {
			if !slices.ContainsFunc(r.Moments, func(m record.DrillMoment) bool { return m.Kind == kind }) {
				t.Errorf("%s: no %s in %+v", name, kind, r.Moments)
			}
		}
	}
	b.count(t)
}

// replicaSet starts the set of the example, if there is a real mongod.
func (b *bed) replicaSet(t *testing.T) bool {
	t.Helper()
	server, ok := enginetest.RealMongo(t)
	if !ok {
		return false
	}
	files := map[string]string{"usr/bin/mongod": server}
	libraries, err := exec.Command("ldd", server).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
		if files[name[1:]], err = filepath.EvalSymlinks(name); err != nil {
			t.Fatal(err)
		}
	}
	const image = "registry.local/mongod:1"
	b.Load(t, kubetest.Image(t, image, t.TempDir(), files))
	text, err := os.ReadFile(filepath.Join(example, "set.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.Apply(t, strings.NewReplacer("CLASS", kubetest.Disk, "IMAGE", image).Replace(string(text)))
	b.Await(t, "three members", func(ctx context.Context) bool {
		all, err := b.Client.CoreV1().Pods("default").List(ctx, meta.ListOptions{LabelSelector: "app=set"})
		return err == nil && len(all.Items) == 3 && !slices.ContainsFunc(all.Items, func(p core.Pod) bool {
			return !b.podReady(&p)
		})
	})
	s, err := kubernetes.Open(t.Context(), kubernetes.Options{Target: "k8s:default/set", Kubeconfig: b.Kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	members := bson.A{}
	for i, m := range s.Members() {
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: m.Address}})
	}
	first, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + s.Members()[0].Address + "/?directConnection=true").
		SetDialer(&dial.Dialer{}))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Disconnect(context.Background())
	initiate := bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: "set"}, {Key: "members", Value: members}}}}
	if err := first.Database("admin").RunCommand(t.Context(), initiate).Err(); err != nil {
		t.Fatal(err)
	}
	b.Await(t, "primary and two secondaries", func(ctx context.Context) bool {
		var status struct{ Members []struct{ State int } }
		err := first.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Decode(&status)
		up := slices.DeleteFunc(status.Members, func(m struct{ State int }) bool { return m.State != 1 && m.State != 2 })
		return err == nil && len(up) == 3 && slices.ContainsFunc(up, func(m struct{ State int }) bool { return m.State == 1 })
	})
	return true
}

// The double-writer drill: Kubernetes loses a node whose pods run on. The taint says that the node is off, so the
// volume is attached to the other node as well, and another server starts on it. Clients of the old server are still
// answered, and what it acknowledged is lost. The drill says so.
func testTwoWriters(t *testing.T, b *bed) {
	here := b.node(t)
	b.cordon(t, here, true)
	b.member(t, "twice", kubetest.Disk) // on the other node, because its volume may be damaged
	b.cordon(t, here, false)
	p, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "twice-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	from := p.Spec.NodeName
	kubelet := strconv.Itoa(b.Kubelet(t, from))
	text, err := os.ReadFile(filepath.Join(example, "double-writer.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for step, signal := range map[string]string{"stop": "-STOP", "start": "-CONT"} {
		text = bytes.ReplaceAll(text, []byte(`[ssh, "{machine}", systemctl `+step+` kubelet]`), []byte("[kill, "+signal+", "+`"`+kubelet+`"]`))
	}
	// The pods of a lost node are removed every 20 s.
	for old, short := range map[string]string{"reattached": "twice", "at: 10s": "at: 2s", "at: 60s": "at: 20s", "duration: 3m": "duration: 100s"} {
		text = bytes.ReplaceAll(text, []byte(old), []byte(short))
	}
	file, out := filepath.Join(t.TempDir(), "drill.yaml"), filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b.cordon(t, from, true) // so that the agent is on the other node
	code, said := b.run(t, append([]string{"drill", file, "--quiet", "--yes-break-it", "--out", out}, agents...)...)
	t.Logf("exit code %d\n%s", code, said)
	b.cordon(t, from, false)
	d, err := record.OpenDrill(out)
	if err != nil {
		t.Fatal(err)
	}
	if l := d.Rounds[0].Ledger; code != 5 || l == nil || len(l.Lost) == 0 {
		t.Errorf("exit code %d, %s: %v, %+v", code, d.Verdict, d.Reasons, l)
	}
}

func (b *bed) cordon(t *testing.T, node string, on bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on)
	if _, err := b.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch,
		meta.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A drill of the whole program kills the pod, loses nothing, and records where the pod was.
func testCommand(t *testing.T, b *bed) {
	dir := filepath.Join(t.TempDir(), "record")
	drill := func(more ...string) (int, string) {
		return b.run(t, append([]string{"drill", "k8s:default/reattached", "--fault", "pod-kill:standalone", "--at", "2s",
			"--duration", "14s", "--rate", "100", "--w", "1", "--journal=true", "--quiet", "--out", dir}, more...)...)
	}
	before, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "reattached-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--dry-run", "--recovery=1m"} { // the second does not say yes
		if code, out := drill(flag); code != map[bool]int{true: 0, false: 2}[flag == "--dry-run"] ||
			!strings.Contains(out, "delete pod reattached-0 --wait=false -n default --grace-period=0 --force") {
			t.Fatalf("%s: exit code %d\n%s", flag, code, out)
		}
	}
	after, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "reattached-0", meta.GetOptions{})
	if err != nil || after.UID != before.UID {
		t.Fatalf("the pod is another one without a yes: %v", err)
	}
	code, out := drill("--yes-break-it")
	d, err := record.OpenDrill(dir)
	if err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	r := d.Rounds[0]
	if code != 0 || d.Verdict != record.Holds || !r.Faults[0].Hit || r.Faults[0].Target != "reattached-0" {
		t.Errorf("exit code %d, %s: %v, %+v\n%s", code, d.Verdict, d.Reasons, r.Faults, out)
	}
	claim, err := b.Client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data-reattached-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &record.Kubernetes{Namespace: "default", Name: "reattached", Kind: "StatefulSet", Pods: []record.KubernetesPod{{
		Name: "reattached-0", Node: before.Spec.NodeName, Image: engineImage,
		Requests: map[string]string{"cpu": "100m", "memory": "128Mi"}, Limits: map[string]string{"memory": "512Mi"},
		Volumes: []record.KubernetesVolume{{Claim: "data-reattached-0", Volume: claim.Spec.VolumeName, Class: kubetest.Disk, Size: "1Gi",
			Driver: "kubetest.csi"}}}}}
	if diff := cmp.Diff(want, r.Kubernetes); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out, "reattached-0 on "+before.Spec.NodeName+"; volume data-reattached-0 of 1Gi, class disk") {
		t.Errorf("the result does not say where the pod was:\n%s", out)
	}
}
