package kubernetes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
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
	b.Load(t, image, agent)
	for _, node := range kubetest.Nodes {
		b.patch(t, node, `{"metadata":{"labels":{"`+core.LabelTopologyZone+`":"zone-of-`+node+`"}}}`)
	}
	b.Storage(t)
	b.apply(t, "reattached", kubetest.Disk)
	b.apply(t, "replicated", kubetest.Mirrored)
	b.awaitMember(t, "reattached")
	o := kubernetes.Options{Target: "k8s:default/reattached", Kubeconfig: b.Kubeconfig}
	if b.set, err = kubernetes.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	uri, err := b.set.URI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.platform, err = platform.NewDeployment(platform.DeploymentOptions{URI: uri, Members: b.set.Members(),
		Journals: b.journals, Backends: []platform.Backend{b.set}})
	if err != nil {
		t.Fatal(err)
	}
	b.client, err = mongo.Connect(options.Client().ApplyURI(uri).SetDialer(&dial.Dialer{}).
		SetTimeout(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.client.Disconnect(t.Context()) }) // which has ended: nobody waits for a server
	return b, true
}

// example is the directory of the example.
const example = "../../examples/failover-kubernetes"

// apply applies the member of the example.
func (b *bed) apply(t *testing.T, name, class string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example, "member.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.Apply(t, strings.NewReplacer("NAME", name, "CLASS", class, "IMAGE", engineImage,
		"tolerationSeconds: 10", "tolerationSeconds: 1").Replace(string(text)))
}

func (b *bed) awaitMember(t *testing.T, name string) {
	t.Helper()
	b.Await(t, "member "+name+" that is ready", func(ctx context.Context) bool { return b.ready(ctx, name) })
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

func faultOf(text string) spec.Fault { return spec.Fault{Action: spec.ParseAction(text)} }

// readyOn says whether the member is ready on a node.
func (b *bed) readyOn(ctx context.Context, node string) bool {
	p, err := b.Client.CoreV1().Pods("default").Get(ctx, "reattached-0", meta.GetOptions{})
	return err == nil && p.Spec.NodeName == node && b.podReady(p)
}

func (b *bed) tainted(t *testing.T, node string) bool {
	t.Helper()
	return slices.ContainsFunc(b.get(t, node).Spec.Taints, func(taint core.Taint) bool {
		return taint.Key == core.TaintNodeOutOfService
	})
}

// command is the program in execution. Its output is complete when it has ended.
type command struct {
	*exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

// begin starts the program.
func (b *bed) begin(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.Command(b.plimsoll, args...), ended: make(chan struct{})}
	c.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "PLIMSOLL_HOME="+b.home)
	c.Stdout, c.Stderr = &c.out, &c.out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait() // the exit code says it
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-c.ended
	})
	return c
}

// await waits for a state while the program runs.
func (c *command) await(t *testing.T, b *bed, what string, is func(context.Context) bool) {
	t.Helper()
	over := false
	b.Await(t, what, func(ctx context.Context) bool {
		select {
		case <-c.ended:
			over = true
		default:
		}
		return over || is(ctx)
	})
	if over {
		t.Fatalf("no %s, because the program has ended\n%s", what, &c.out)
	}
}

func (c *command) end(t *testing.T, by os.Signal) (int, string) {
	t.Helper()
	if by != nil {
		if err := c.Process.Signal(by); err != nil {
			t.Fatal(err)
		}
	}
	<-c.ended
	return c.ProcessState.ExitCode(), c.out.String()
}

// run runs the program. Its agents are pods.
func (b *bed) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	return b.begin(t, args...).end(t, nil)
}

// agents are the flags of the program for agents in pods.
var agents = []string{"--agents-listen", kubetest.Machine + ":0", "--agent-image", plimsollImage, "--agent-cpu", "200m",
	"--agent-memory", "256Mi"}

func (b *bed) cordon(t *testing.T, node string, on bool) {
	t.Helper()
	b.patch(t, node, fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, on))
}

// patch changes a node.
func (b *bed) patch(t *testing.T, node, change string) {
	t.Helper()
	if _, err := b.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(change),
		meta.PatchOptions{}); err != nil {
		t.Fatal(err)
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
