package kubernetes_test

import (
	"bytes"
	"context"
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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// TestFaultsOnKubernetes breaks a server in a real Kubernetes in each way of its API. All acknowledged writes survive.
func TestFaultsOnKubernetes(t *testing.T) {
	b, ok := newBed(t)
	if !ok {
		return
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, *bed)
	}{{"pod killed", testKilled}, {"whole command", testCommand}, {"node drained", testDrained},
		{"drill killed", testDrillKilled}, {"volume detached", testDetached}, {"Chaos Mesh", testChaosMesh}, {"example", testExample},
		// Each of these attaches a volume to a node while another one may use it, which may damage it.
		{"node killed", testNodeKilled}, {"two writers", testTwoWriters}} {
		if !t.Run(c.name, func(t *testing.T) { c.test(t, b) }) {
			break
		}
	}
	if err := b.platform.Close(); err != nil {
		t.Error(err)
	}
}

func testKilled(t *testing.T, b *bed) {
	b.write(t)
	_, known := b.inject(t, faultOf("pod-kill:standalone"))
	if known.Target != "reattached-0" || known.Mode != fault.Crash || known.Lasts || known.TakesDown {
		t.Errorf("%+v", known)
	}
	if c := known.Commands[0]; !c.Request ||
		!strings.HasSuffix(c.Text, "delete pod reattached-0 --wait=false -n default --grace-period=0 --force") {
		t.Errorf("%+v", c)
	}
	b.count(t)
	b.write(t)
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
	i, known := b.inject(t, faultOf("node-drain:reattached-0"))
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

// The attachment of the volume is deleted, and Kubernetes attaches the volume again.
func testDetached(t *testing.T, b *bed) {
	if _, known := b.inject(t, faultOf("volume-detach:reattached-0")); known.Mode != fault.Storage || known.Lasts {
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
	delay := faultOf("pod-delay:reattached-0")
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
	if known.Mode != fault.Late || !known.Lasts {
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

// The pod of a node that lost power is not replaced before the node has the taint.
func testNodeKilled(t *testing.T, b *bed) {
	b.write(t)
	from := b.node(t)
	b.Kill(from)
	b.Await(t, "node that is lost, with a pod that is being deleted", func(ctx context.Context) bool {
		n, err := b.Client.CoreV1().Nodes().Get(ctx, from, meta.GetOptions{})
		p, podErr := b.Client.CoreV1().Pods("default").Get(ctx, "reattached-0", meta.GetOptions{})
		return err == nil && podErr == nil && kubetest.Ready(n) == core.ConditionUnknown && p.DeletionTimestamp != nil &&
			p.Spec.NodeName == from
	})
	i, known := b.inject(t, faultOf("node-out-of-service:reattached-0"))
	if known.Target != from || !known.Lasts {
		t.Errorf("%+v", known)
	}
	b.Await(t, "pod on the other node", func(ctx context.Context) bool { return b.readyOn(ctx, other(from)) })
	b.count(t)
	// A process that is killed leaves its journal, from which the program removes the taint.
	if err := os.CopyFS(filepath.Join(b.home, "platform"), os.DirFS(b.journals)); err != nil {
		t.Fatal(err)
	}
	b.healed(t, "taint node "+from+" "+core.TaintNodeOutOfService+"-")
	if b.tainted(t, from) {
		t.Errorf("%s still has the taint", from)
	}
	if known, err := i.Heal(t.Context()); err != nil || known.Healed.IsZero() { // it is reverted already
		t.Errorf("%+v, %v", known, err)
	}
	b.Restart(t, from)
}

// What a drill has broken that was killed in the middle is reverted by its watchdog.
func testDrillKilled(t *testing.T, b *bed) {
	from := b.node(t)
	drill := b.begin(t, "drill", "k8s:default/reattached", "--fault", "node-drain:standalone", "--at", "1s",
		"--duration", "1h", "--rate", "20", "--quiet", "--yes-break-it", "--out", filepath.Join(t.TempDir(), "record"))
	drill.await(t, b, "pod on the other node", func(ctx context.Context) bool { return b.readyOn(ctx, other(from)) })
	if !b.get(t, from).Spec.Unschedulable {
		t.Errorf("%s is not cordoned during the drill", from)
	}
	drill.end(t, os.Kill)
	b.Await(t, "watchdog", func(context.Context) bool { return !b.get(t, from).Spec.Unschedulable })
	b.Await(t, "journal without a fault", func(context.Context) bool {
		_, out := b.run(t, "platform", "status")
		return strings.Contains(out, "no fault is in the journal")
	})
	b.count(t)
}

// healed reverts what is in the journals of the program, which does that by a request.
func (b *bed) healed(t *testing.T, by string) {
	t.Helper()
	if code, out := b.run(t, "platform", "status"); code != 0 || !strings.Contains(out, by) {
		t.Errorf("exit code %d, want %q in\n%s", code, by, out)
	}
	if code, out := b.run(t, "platform", "heal"); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := b.run(t, "platform", "heal"); code != 0 || !strings.Contains(out, "no fault is in the journal") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// The example runs through a REST service in the pod of an agent. Nothing is broken without a yes.
func testExample(t *testing.T, b *bed) {
	names, size := []string{"reattached", "replicated"}, []string{"--smoke"}
	for _, name := range names { // the tests before this one broke both
		b.awaitMember(t, name)
	}
	if b.replicaSet(t) { // a minute may be too short for three parts
		names, size = append(names, "replica-set"), []string{"--budget", "3m"}
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
	command := slices.Concat([]string{"suite", "run", folder, "--quiet", "--out", out}, size, agents)
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
		if len(d.Rounds) != 1 || len(d.Rounds[0].Faults) != 1 {
			t.Fatalf("%s: %s %v, %s\n%s", name, d.Verdict, d.Reasons, d.Problem, text)
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

// The double-writer drill: the kubelet of a node is stopped, so Kubernetes loses the node, whose pods run on. The taint
// says that the node is off, so the volume is attached to the other node as well, and another server starts on it.
// Clients of the old server are still answered, and what it acknowledged is lost. The drill says so.
func testTwoWriters(t *testing.T, b *bed) {
	from := b.node(t)
	text, err := os.ReadFile(filepath.Join(example, "double-writer.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kubelet := strconv.Itoa(b.Kubelet(t, from))
	for old, of := range map[string]string{"[ssh, \"{machine}\", systemctl stop kubelet]": `[kill, -STOP, "` + kubelet + `"]`,
		"[ssh, \"{machine}\", systemctl start kubelet]": `[kill, -CONT, "` + kubelet + `"]`,
		"at: 10s": "at: 2s", "at: 60s": "at: 20s", "duration: 3m": "duration: 1h"} {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("the example has no %s", old)
		}
		text = bytes.ReplaceAll(text, []byte(old), []byte(of))
	}
	file, out := filepath.Join(t.TempDir(), "drill.yaml"), filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b.cordon(t, from, true) // so that the agent is on the other node
	drill := b.begin(t, append([]string{"drill", file, "--quiet", "--yes-break-it", "--out", out}, agents...)...)
	drill.await(t, b, "second server", func(ctx context.Context) bool { return b.readyOn(ctx, other(from)) })
	code, said := drill.end(t, os.Interrupt)
	t.Logf("exit code %d\n%s", code, said)
	b.cordon(t, from, false)
	if b.tainted(t, from) {
		t.Errorf("%s has the taint after an interrupted drill", from)
	}
	d, err := record.OpenDrill(out)
	if err != nil {
		t.Fatal(err)
	}
	if l := d.Rounds[0].Ledger; code != 5 || l == nil || len(l.Lost) == 0 {
		t.Errorf("exit code %d, %s: %v, %+v", code, d.Verdict, d.Reasons, l)
	}
}

// A drill of the whole program is a rolling restart: it deletes the pod, loses nothing, and records where the pod was.
func testCommand(t *testing.T, b *bed) {
	dir := filepath.Join(t.TempDir(), "record")
	drill := func(more ...string) (int, string) {
		return b.run(t, append([]string{"drill", "k8s:default/reattached", "--fault", "rolling-restart", "--at", "2s",
			"--duration", "14s", "--rate", "100", "--w", "1", "--journal=true", "--quiet", "--out", dir}, more...)...)
	}
	before, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "reattached-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--dry-run", "--recovery=1m"} { // the second does not say yes
		if code, out := drill(flag); code != map[bool]int{true: 0, false: 2}[flag == "--dry-run"] ||
			!strings.Contains(out, "each member, by the action pod-delete") {
			t.Fatalf("%s: exit code %d\n%s", flag, code, out)
		}
	}
	after, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "reattached-0", meta.GetOptions{})
	if err != nil || after.UID != before.UID {
		t.Fatalf("the pod is another one without a yes: %v", err)
	}
	code, out := drill("--yes-break-it", "--verbose")
	d, err := record.OpenDrill(dir)
	slow := func(reason string) bool {
		return strings.Contains(reason, "acknowledged in the second before the fault")
	}
	for n := 1; n < 5 && err == nil && d.Verdict == record.Unknown && len(d.Reasons) == 1 && slow(d.Reasons[0]); n++ {
		t.Logf("attempt %d: %q", n, d.Reasons) // a busy machine makes few writes in that second
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if before, err = b.Client.CoreV1().Pods("default").Get(t.Context(), "reattached-0", meta.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		code, out = drill("--yes-break-it", "--verbose")
		d, err = record.OpenDrill(dir)
	}
	if err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	r := d.Rounds[0]
	if f := r.Faults[0]; code != 0 || d.Verdict != record.Holds || !f.Hit || f.Event == nil ||
		f.Event.Outcome != record.EventCompleted || !strings.Contains(f.Evidence, "the processes of reattached-0 are new") {
		t.Errorf("exit code %d, %s: %v, %+v\n%s", code, d.Verdict, d.Reasons, f, out)
	}
	claim, err := b.Client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data-reattached-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &record.Kubernetes{Namespace: "default", Name: "reattached", Kind: "StatefulSet", Pods: []record.KubernetesPod{{
		Name: "reattached-0", Node: before.Spec.NodeName, Zone: "zone-of-" + before.Spec.NodeName, Image: engineImage,
		Requests: map[string]string{"cpu": "100m", "memory": "128Mi"}, Limits: map[string]string{"memory": "512Mi"},
		Volumes: []record.KubernetesVolume{{Claim: "data-reattached-0", Volume: claim.Spec.VolumeName, Class: kubetest.Disk, Size: "1Gi",
			Driver: "kubetest.csi"}}}}}
	if diff := cmp.Diff(want, r.Kubernetes); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out, "on "+want.Pods[0].Node+" in zone "+want.Pods[0].Zone+"; volume data-reattached-0 of 1Gi, class disk") {
		t.Errorf("the result does not say where the pod was:\n%s", out)
	}
}
