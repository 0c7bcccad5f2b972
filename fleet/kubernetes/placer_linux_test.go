package kubernetes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/kubernetes"
	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
)

// nobody is a coordinator that no agent reaches.
type nobody struct{}

func (nobody) Connect() string { return "tls://" + kubetest.Machine + ":1" }
func (nobody) Token() string   { return "none.none" }
func (nobody) Wait(ctx context.Context, _ int, _ func(string)) ([]fleet.Link, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (nobody) Resume(context.Context) ([]fleet.Link, error) { return nil, nil }

// testReasons places agents that cannot start, and checks that the reason is reported and that nothing is left.
func testReasons(t *testing.T, c *kubetest.Cluster) {
	cluster, err := kubernetes.Connect(c.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]kubernetes.Settings{"token": {Token: "a.b"}, "creds": {Token: "a.b", Creds: "text"}} {
		s.Name, s.Namespace, s.Image, s.Agents = "by-hand", "default", "plimsoll:1", 3
		s.Connect, s.CPU, s.Memory = "tls://192.0.2.9:4100", "1", "512Mi"
		if err := cluster.Check(t.Context(), s); err != nil {
			t.Errorf("the manifest with a %s: %v", name, err)
		}
	}
	noAgents(t, c)
	small := kubernetes.Settings{Image: "registry.local/pause:1", CPU: "10m", Memory: "16Mi"}
	missing, large := small, small
	missing.Image, large.CPU = "registry.local/none:1", "1000"
	place(t, cluster, missing, "2 of the agents' pods cannot pull the image registry.local/none:1 (")
	place(t, cluster, large, "2 of the agents' pods cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu")
	limit := core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "no-pods"}}
	limit.Spec.Hard = core.ResourceList{core.ResourcePods: resource.MustParse("0")}
	quotas := c.Client.CoreV1().ResourceQuotas("default")
	if _, err := quotas.Create(t.Context(), &limit, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await(t, "effective quota", func(ctx context.Context) bool {
		q, err := quotas.Get(ctx, limit.Name, meta.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	place(t, cluster, small, "the cluster does not allow the pods of the agents: ")
	if err := quotas.Delete(t.Context(), limit.Name, meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	noAgents(t, c)

	// A program that is not an agent ends, which is an error. Clean removes what a killed process would leave.
	p := kubernetes.New(cluster, small, nobody{})
	if _, err := p.Place(t.Context(), 1, nil); err == nil || !strings.Contains(err.Error(), "ended with exit code") {
		t.Errorf("an agent that ended gave %v", err)
	}
	loopback := small
	loopback.Connect = "tls://127.0.0.1:4100"
	_, err = kubernetes.New(cluster, loopback, nobody{}).Place(t.Context(), 1, nil)
	if err == nil || !strings.Contains(err.Error(), "--agents-listen") {
		t.Errorf("an address of loopback gave %v", err)
	}
	if removed, err := cluster.Clean(t.Context()); err != nil || len(removed) != 1 {
		t.Errorf("Clean removed %v, %v", removed, err)
	}
	noAgents(t, c)
	if err := p.End(); err != nil {
		t.Errorf("End of agents that Clean has removed: %v", err)
	}
	elsewhere, err := kubernetes.Connect(c.Kubeconfig, "nowhere")
	if err != nil {
		t.Fatal(err)
	}
	_, err = kubernetes.New(elsewhere, small, nobody{}).Place(t.Context(), 1, nil)
	if err == nil || !strings.Contains(err.Error(), "Create the namespace") {
		t.Errorf("a namespace that does not exist gave %v", err)
	}
}

// place places two agents until the reason why they do not start is told, and ends them.
func place(t *testing.T, cluster *kubernetes.Cluster, s kubernetes.Settings, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kubetest.Limit)
	defer cancel()
	var told []string
	var mu sync.Mutex
	p := kubernetes.New(cluster, s, nobody{})
	_, err := p.Place(ctx, 2, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
		if strings.HasPrefix(text, want) {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("not told: %s. Told: %q, %v", want, told, err)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

// noAgents waits until the cluster has removed everything of agents.
func noAgents(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	all := meta.ListOptions{LabelSelector: "app.kubernetes.io/name=plimsoll-agents"}
	c.Await(t, "namespace without agents", func(ctx context.Context) bool {
		jobs, err0 := c.Client.BatchV1().Jobs("default").List(ctx, all)
		pods, err1 := c.Client.CoreV1().Pods("default").List(ctx, all)
		secrets, err2 := c.Client.CoreV1().Secrets("default").List(ctx, all)
		policies, err3 := c.Client.NetworkingV1().NetworkPolicies("default").List(ctx, all)
		return errors.Join(err0, err1, err2, err3) == nil &&
			len(jobs.Items)+len(pods.Items)+len(secrets.Items)+len(policies.Items) == 0
	})
}
