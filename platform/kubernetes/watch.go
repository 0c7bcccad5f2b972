package kubernetes

import (
	"context"
	"slices"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
)

// known is what is known of a pod of a name. There is none if it has no uid.
type known struct {
	uid, node, ip string
	runs          bool // a container of it runs
	// What was reached, in this order for a new pod.
	all, ready, deleted bool
}

// watch knows where the pods are now.
type watch struct {
	ended sync.WaitGroup

	mu      sync.Mutex
	all     map[string]known
	changed chan struct{} // closed at the next change
	moments []platform.Moment
	first   map[string]string // the uids of the pods that were there from the beginning, by name
	nodes   map[string]string // the node of each volume that is attached
}

// newWatch watches the pods until ctx ends.
func newWatch(ctx context.Context, c *cluster, selector string, now []core.Pod) *watch {
	w := &watch{changed: make(chan struct{}), first: map[string]string{}, nodes: map[string]string{}}
	w.set(now)
	for _, p := range now {
		w.first[p.Name] = string(p.UID)
	}
	w.ended.Go(func() {
		for ctx.Err() == nil {
			w.follow(ctx, c, selector)
			_ = wait.Sleep(ctx, 100*time.Millisecond) // the loop sees the end
		}
	})
	return w
}

// follow returns when the API server ends the watch, or cannot be reached.
func (w *watch) follow(ctx context.Context, c *cluster, selector string) {
	l, err := c.In(kube.Pods).List(ctx, meta.ListOptions{LabelSelector: selector})
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
	events, err := c.In(kube.Pods).Watch(ctx, meta.ListOptions{LabelSelector: selector,
		ResourceVersion: l.GetResourceVersion(),
		TimeoutSeconds:  &seconds})
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
		if err != nil || e.Type == apiwatch.Error {
			return
		}
		w.mu.Lock()
		if e.Type == apiwatch.Deleted {
			p.DeletionTimestamp = &meta.Time{}
			w.note(p.Name, knownOf(&p))
			delete(w.all, p.Name)
		} else {
			w.note(p.Name, knownOf(&p))
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
	k := known{uid: string(p.UID), node: p.Spec.NodeName, ip: p.Status.PodIP, deleted: p.DeletionTimestamp != nil}
	k.all = len(p.Status.ContainerStatuses) > 0
	for _, s := range p.Status.ContainerStatuses {
		k.runs = k.runs || s.State.Running != nil
		k.all = k.all && s.State.Running != nil
	}
	for _, c := range p.Status.Conditions {
		k.ready = k.ready || c.Type == core.PodReady && c.Status == core.ConditionTrue
	}
	return k
}

// note adds what a pod has reached to the moments. It holds the lock.
func (w *watch) note(name string, k known) {
	old := w.all[name]
	add := func(is bool, kind, text string) {
		if is {
			w.moments = append(w.moments, platform.Moment{At: time.Now(), Kind: kind, Text: text})
		}
	}
	if old.uid == k.uid || old.uid == "" { // else the end of the old one was missed, or is that of an older one
		add(k.deleted && !old.deleted, record.MomentPodDeleted, name+" on "+k.node)
	}
	if k.uid == w.first[name] {
		return
	}
	if old.uid != k.uid {
		old = known{}
	}
	add(k.node != "" && old.node == "", record.MomentPodPlaced, name+" on "+k.node)
	add(k.all && !old.all, record.MomentPodStarted, name+" on "+k.node)
	add(k.ready && !old.ready, record.MomentPodReady, name+" on "+k.node)
}

// attached follows the attachments of volumes, as far as the user may.
func (w *watch) attached(ctx context.Context, c *cluster, volumes map[string]string) {
	for ctx.Err() == nil {
		all, err := kube.List[storage.VolumeAttachment](ctx, c.Cluster, kube.Attachments, "")
		if err == nil {
			w.noteAttachments(all, volumes)
		}
		_ = wait.Sleep(ctx, attachmentsEvery)
	}
}

// attachmentsEvery is how often attachments are listed: a cluster has few, and a drill takes minutes.
const attachmentsEvery = 250 * time.Millisecond

func (w *watch) noteAttachments(all []storage.VolumeAttachment, volumes map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range all {
		volume := a.Spec.Source.PersistentVolumeName
		if volume == nil || volumes[*volume] == "" || !a.Status.Attached || a.DeletionTimestamp != nil {
			continue
		}
		if old := w.nodes[*volume]; old != "" && old != a.Spec.NodeName {
			w.moments = append(w.moments, platform.Moment{At: time.Now(), Kind: record.MomentAttached,
				Text: volumes[*volume] + " to " + a.Spec.NodeName})
		}
		w.nodes[*volume] = a.Spec.NodeName
	}
}

// list returns the moments.
func (w *watch) list() []platform.Moment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.moments)
}

func (w *watch) set(now []core.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all != nil {
		for _, p := range now {
			w.note(p.Name, knownOf(&p))
		}
	}
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
