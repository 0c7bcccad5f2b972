package kubernetes_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// bed is a StatefulSet of one server in a real Kubernetes. Its volume is a directory that both nodes have.
type bed struct {
	*kubetest.Cluster
	set      *kubernetes.Set
	platform *platform.Deployment
	journals string
	client   *mongo.Client
	plimsoll string // the program
	written  int
}

func newBed(t *testing.T) (*bed, bool) {
	t.Setenv("CGO_ENABLED", "0") // the server's image has no libraries
	program := filepath.Dir(enginetest.StandinMongo(t, "8.0.12"))
	data, plimsoll := t.TempDir(), filepath.Join(t.TempDir(), "plimsoll")
	build := exec.Command("go", "build", "-o", plimsoll, "github.com/plimsoll-bench/plimsoll/cmd/plimsoll")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c, ok := kubetest.Start(t)
	if !ok {
		return nil, false
	}
	b := &bed{Cluster: c, plimsoll: plimsoll, journals: filepath.Join(t.TempDir(), "journals")}
	for _, make := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := c.Client.CoreV1().PersistentVolumes().Create(ctx, volume(data), meta.CreateOptions{})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.Client.AppsV1().StatefulSets("default").Create(ctx, statefulSet(program), meta.CreateOptions{})
			return err
		},
	} {
		if err := make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.Await(t, "member that is ready", func(ctx context.Context) bool { return b.ready(ctx) })
	var err error
	o := kubernetes.Options{Target: "k8s:default/mongo", Kubeconfig: c.Kubeconfig}
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

func volume(dir string) *core.PersistentVolume {
	size := core.ResourceList{core.ResourceStorage: resource.MustParse("64Mi")}
	return &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: "shared"}, Spec: core.PersistentVolumeSpec{
		Capacity: size, AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce}, StorageClassName: "shared",
		PersistentVolumeSource: core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: dir}}}}
}

func statefulSet(program string) *apps.StatefulSet {
	one, no, root, grace, class := int32(1), false, int64(0), int64(5), "shared"
	labels := map[string]string{"app": "mongo"}
	server := core.Container{
		Name: "mongod", Image: "registry.local/pause:1", ImagePullPolicy: core.PullNever,
		Command: []string{"/program/mongod", "--bind_ip", "0.0.0.0", "--port", "27017", "--dbpath", "/data", "--logpath", "/data/log"},
		Ports:   []core.ContainerPort{{Name: "mongodb", ContainerPort: 27017}},
		Resources: core.ResourceRequirements{
			Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("100m")},
			Limits:   core.ResourceList{core.ResourceMemory: resource.MustParse("256Mi")}},
		VolumeMounts:    []core.VolumeMount{{Name: "program", MountPath: "/program"}, {Name: "data", MountPath: "/data"}},
		SecurityContext: &core.SecurityContext{RunAsUser: &root},
	}
	return &apps.StatefulSet{ObjectMeta: meta.ObjectMeta{Name: "mongo"}, Spec: apps.StatefulSetSpec{
		Replicas: &one, ServiceName: "mongo", Selector: &meta.LabelSelector{MatchLabels: labels},
		Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: core.PodSpec{
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, TerminationGracePeriodSeconds: &grace,
			Containers: []core.Container{server},
			Volumes: []core.Volume{{Name: "program", VolumeSource: core.VolumeSource{
				HostPath: &core.HostPathVolumeSource{Path: program}}}},
		}},
		VolumeClaimTemplates: []core.PersistentVolumeClaim{{ObjectMeta: meta.ObjectMeta{Name: "data"},
			Spec: core.PersistentVolumeClaimSpec{AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
				StorageClassName: &class, Resources: core.VolumeResourceRequirements{
					Requests: core.ResourceList{core.ResourceStorage: resource.MustParse("64Mi")}}}}},
	}}
}

func (b *bed) ready(ctx context.Context) bool {
	p, err := b.Client.CoreV1().Pods("default").Get(ctx, "mongo-0", meta.GetOptions{})
	return err == nil && p.DeletionTimestamp == nil && len(p.Status.ContainerStatuses) > 0 &&
		p.Status.ContainerStatuses[0].Ready
}

// node is where the member is.
func (b *bed) node(t *testing.T) string {
	t.Helper()
	p, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "mongo-0", meta.GetOptions{})
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
	}{{"pod deleted", testDeleted}, {"whole command", testCommand}, {"node drained", testDrained}, {"volume detached", testDetached}, {"Chaos Mesh", testChaosMesh},
		{"node cut off and out of service", testOutOfService}} {
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
	for text, manner := range map[string]string{"pod-delete:mongo-0": record.MannerPlanned, "pod-kill:standalone": record.MannerCrash} {
		began := time.Now()
		_, known := b.inject(t, fault(text))
		if known.Target != "mongo-0" || known.Manner != manner || known.Lasts || known.TakesDown {
			t.Errorf("%s: %+v", text, known)
		}
		if c := known.Commands[0]; !c.Request || !strings.Contains(c.Text, "delete pod mongo-0") {
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
	i, known := b.inject(t, fault("node-drain:mongo-0"))
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

// The attachment of the volume is deleted. Without one, the fault is refused.
func testDetached(t *testing.T, b *bed) {
	i, err := b.platform.Fault(fault("volume-detach:mongo-0"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Inject(t.Context()); err == nil || !strings.Contains(err.Error(), "no volume of mongo-0 is attached") {
		t.Errorf("without an attachment: %v", err)
	}
	name := "shared"
	a := &storage.VolumeAttachment{ObjectMeta: meta.ObjectMeta{Name: "plimsoll-test"}, Spec: storage.VolumeAttachmentSpec{
		Attacher: "plimsoll.test", NodeName: b.node(t), Source: storage.VolumeAttachmentSource{PersistentVolumeName: &name}}}
	if _, err := b.Client.StorageV1().VolumeAttachments().Create(t.Context(), a, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, known := b.inject(t, fault("volume-detach:mongo-0")); known.Manner != record.MannerDisk || known.Lasts {
		t.Errorf("%+v", known)
	}
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
	delay := fault("pod-delay:mongo-0")
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
		"selector": map[string]any{"pods": map[string]any{"default": []any{"mongo-0"}}}}
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
func testOutOfService(t *testing.T, b *bed) {
	from := b.node(t)
	b.Cut(t, from)
	b.Await(t, "node that is lost", func(ctx context.Context) bool {
		n, err := b.Client.CoreV1().Nodes().Get(ctx, from, meta.GetOptions{})
		return err == nil && kubetest.Ready(n) == core.ConditionUnknown
	})
	i, err := b.platform.Fault(fault("node-out-of-service:mongo-0"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if known, err := i.Inject(t.Context()); err != nil || known.Target != from || !known.Lasts {
		t.Fatalf("%+v, %v", known, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), kubetest.Limit)
	defer cancel()
	if known, err := i.Verify(ctx); err != nil || !known.Hit {
		t.Errorf("%+v, %v", known, err)
	}
	b.Await(t, "pod on the other node", func(ctx context.Context) bool {
		p, err := b.Client.CoreV1().Pods("default").Get(ctx, "mongo-0", meta.GetOptions{})
		return err == nil && p.Spec.NodeName == other(from)
	})
	if known, err := i.Heal(t.Context()); err != nil || known.Healed.IsZero() {
		t.Errorf("%+v, %v", known, err)
	}
	for _, taint := range b.get(t, from).Spec.Taints {
		if taint.Key == core.TaintNodeOutOfService {
			t.Errorf("%s still has the taint", from)
		}
	}
	b.Mend(t, from) // the old server ends, and with it its lock of the directory
	b.count(t)
}

// A drill of the whole program kills the pod, loses nothing, and records where the pod was.
func testCommand(t *testing.T, b *bed) {
	dir := filepath.Join(t.TempDir(), "record")
	drill := func(more ...string) (int, string) {
		cmd := exec.Command(b.plimsoll, append([]string{"drill", "k8s:default/mongo", "--fault", "pod-kill:standalone", "--at", "2s",
			"--duration", "14s", "--rate", "100", "--w", "1", "--j=true", "--quiet", "--out", dir}, more...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "PLIMSOLL_HOME="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	before, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "mongo-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--dry-run", "--recovery=1m"} { // the second does not say yes
		if code, out := drill(flag); code != map[bool]int{true: 0, false: 2}[flag == "--dry-run"] ||
			!strings.Contains(out, "delete pod mongo-0 --wait=false -n default --grace-period=0 --force") {
			t.Fatalf("%s: exit code %d\n%s", flag, code, out)
		}
	}
	after, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "mongo-0", meta.GetOptions{})
	if err != nil || after.UID != before.UID {
		t.Fatalf("the pod is another one without a yes: %v", err)
	}
	code, out := drill("--yes-break-it")
	d, err := record.OpenDrill(dir)
	if err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	r := d.Rounds[0]
	if code != 0 || d.Verdict != record.Holds || !r.Faults[0].Hit || r.Faults[0].Target != "mongo-0" {
		t.Errorf("exit code %d, %s: %v, %+v\n%s", code, d.Verdict, d.Reasons, r.Faults, out)
	}
	want := &record.Kubernetes{Namespace: "default", Name: "mongo", Kind: "StatefulSet", Pods: []record.KubernetesPod{{
		Name: "mongo-0", Node: before.Spec.NodeName, Image: "registry.local/pause:1",
		Requests: map[string]string{"cpu": "100m", "memory": "256Mi"}, Limits: map[string]string{"memory": "256Mi"},
		Volumes: []record.KubernetesVolume{{Claim: "data-mongo-0", Volume: "shared", Class: "shared", Size: "64Mi"}}}}}
	if diff := cmp.Diff(want, r.Kubernetes); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out, "mongo-0 on "+before.Spec.NodeName+"; volume data-mongo-0 of 64Mi, class shared") {
		t.Errorf("the result does not say where the pod was:\n%s", out)
	}
}
