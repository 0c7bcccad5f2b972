package kubernetes

import (
	"context"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kube "k8s.io/apimachinery/pkg/watch"
)

// known is what is known of a pod of a name. There is none if it has no uid.
type known struct {
	uid, node, ip string
	runs          bool // its container runs
}

// watch knows where the pods are now.
type watch struct {
	ended sync.WaitGroup

	mu      sync.Mutex
	all     map[string]known
	changed chan struct{} // closed at the next change
}

// newWatch watches the pods until ctx ends.
func newWatch(ctx context.Context, c *cluster, selector string, now []core.Pod) *watch {
	w := &watch{changed: make(chan struct{})}
	w.set(now)
	w.ended.Go(func() {
		for ctx.Err() == nil {
			w.follow(ctx, c, selector)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return w
}

// follow returns when the API server ends the watch, or cannot be reached.
func (w *watch) follow(ctx context.Context, c *cluster, selector string) {
	l, err := c.in(pods).List(ctx, meta.ListOptions{LabelSelector: selector})
	if err != nil {
		return
	}
	var now []core.Pod
	for _, o := range l.Items {
		if p, err := podOf(&o); err == nil {
			now = append(now, p)
		}
	}
	w.set(now)
	seconds := int64(60) // a connection that hangs is noticed then
	events, err := c.in(pods).Watch(ctx, meta.ListOptions{LabelSelector: selector, ResourceVersion: l.GetResourceVersion(),
		TimeoutSeconds: &seconds})
	if err != nil {
		return
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		p, err := podOf(o)
		if err != nil || e.Type == kube.Error {
			return
		}
		w.mu.Lock()
		if e.Type == kube.Deleted {
			delete(w.all, p.Name)
		} else {
			w.all[p.Name] = knownOf(&p)
		}
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
	}
}

func podOf(o *unstructured.Unstructured) (p core.Pod, err error) {
	return p, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p)
}

func knownOf(p *core.Pod) known {
	k := known{uid: string(p.UID), node: p.Spec.NodeName, ip: p.Status.PodIP}
	for _, s := range p.Status.ContainerStatuses {
		k.runs = k.runs || s.State.Running != nil
	}
	return k
}

func (w *watch) set(now []core.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = map[string]known{}
	for _, p := range now {
		w.all[p.Name] = knownOf(&p)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watch) pod(name string) known {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[name]
}

// await waits until is returns true for the pod of a name, or ctx ends.
func (w *watch) await(ctx context.Context, name string, is func(known) bool) known {
	for {
		w.mu.Lock()
		k, changed := w.all[name], w.changed
		w.mu.Unlock()
		if is(k) {
			return k
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return k
		}
	}
}
