package kubernetes

import (
	"context"
	"fmt"
	"sync"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// fates are what became of the pods of agents. They are noted when they change, because the cluster soon removes a pod
// that it has evicted.
type fates struct {
	cluster *Cluster
	stops   []func()

	mu sync.Mutex
	of map[string]fate
}

type fate struct {
	node, why string
	taint     bool // of the node ended the pod, so the node knows more
}

// follow notes what becomes of the pods of a Job until the end.
func (f *fates) follow(c *Cluster, job string) {
	ctx, stop := context.WithCancel(context.Background())
	f.cluster, f.stops = c, append(f.stops, stop)
	go func() {
		for ctx.Err() == nil {
			w, err := c.In(kube.Pods).Watch(ctx,
				meta.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + job})
			if apierrors.IsForbidden(err) {
				return
			}
			if err == nil { // it begins with all pods that are there
				for e := range w.ResultChan() {
					f.note(e.Object)
				}
			}
			_ = wait.Sleep(ctx, followEvery)
		}
	}()
}

func (f *fates) end() {
	for _, stop := range f.stops {
		stop()
	}
	f.stops = nil
}

func (f *fates) note(o runtime.Object) {
	var p core.Pod
	u, ok := o.(*unstructured.Unstructured)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p) != nil {
		return // the end of the watch
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	is := f.of[p.Name]
	is.node = p.Spec.NodeName
	for _, c := range p.Status.Conditions {
		if c.Type == core.DisruptionTarget && c.Status == core.ConditionTrue {
			is.why = fmt.Sprintf("the cluster ended its pod (%s: %s)", c.Reason, kube.OneLine(c.Message))
			is.taint = c.Reason == "DeletionByTaintManager"
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && is.why == "" {
			is.why = fmt.Sprintf("its container ended with exit code %d (%s)", t.ExitCode, t.Reason)
		}
	}
	if f.of == nil {
		f.of = map[string]fate{}
	}
	f.of[p.Name] = is
}

// The pod was evicted, its container was killed, or its node is lost.
func (f *fates) Explain(ctx context.Context, agent string) string {
	f.mu.Lock()
	is := f.of[agent]
	f.mu.Unlock()
	if is.why != "" && !is.taint || is.node == "" {
		return is.why
	}
	o, err := f.cluster.In(kube.Nodes).Get(ctx, is.node, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "its node " + is.node + " was removed from the cluster"
	}
	var n core.Node
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &n) != nil {
		return is.why // not everybody may read nodes
	}
	for _, c := range n.Status.Conditions {
		if c.Type == core.NodeReady && c.Status != core.ConditionTrue {
			return fmt.Sprintf("its node %s is not ready (%s)", is.node, kube.OneLine(c.Message))
		}
	}
	return is.why
}
