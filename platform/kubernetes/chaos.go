package kubernetes

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// kinds are the kinds of Chaos Mesh, and what is in the list of their resources.
var kinds = map[string]string{"PodChaos": "podchaos", "NetworkChaos": "networkchaos", "IOChaos": "iochaos", "TimeChaos": "timechaos"}

func chaosResource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: kinds[kind]}
}

func (c *cluster) deleteAttachment(ctx context.Context, name string, uid types.UID) error {
	return c.In(kube.Attachments).Delete(ctx, name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &uid}})
}

// chaos leaves a fault to Chaos Mesh: it creates an object, waits until that is injected, and removes it.
func (s *Set) chaos(ctx context.Context, steps *platform.Steps, f spec.Fault, p *core.Pod) error {
	c := s.cluster
	kind, body, err := s.chaosSpec(f, p)
	if err != nil {
		return err
	}
	resource := c.In(chaosResource(kind))
	if _, err := resource.List(ctx, meta.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
		return fmt.Errorf("%s is injected by Chaos Mesh, and this cluster does not have it. Install it (https://chaos-mesh.org), "+
			"or give commands (exec)", f.Action.Name)
	} else if err != nil {
		return c.Explain(err, "list "+kinds[kind])
	}
	name := "plimsoll-" + f.Action.Name + "-" + strings.ToLower(rand.Text()[:8])
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "chaos-mesh.org/v1alpha1", "kind": kind, "spec": body,
		"metadata": map[string]any{"name": name, "namespace": c.Namespace,
			"labels": map[string]any{"plimsoll-platform": "fault"}},
	}}
	steps.Inject = c.request(injectName, func(ctx context.Context) (string, error) {
		if _, err := resource.Create(ctx, o, meta.CreateOptions{}); err != nil {
			return "", err
		}
		for {
			text, err := c.injected(ctx, kind, name)
			if err == nil {
				return text, nil
			}
			if wait.Sleep(ctx, 100*time.Millisecond) != nil {
				return "", fmt.Errorf("not injected by Chaos Mesh: %w", err)
			}
		}
	}, "create", "-n", c.Namespace, "-f", name+".yaml")
	steps.Undo = undo{Login: c.Login, Chaos: kind, Name: name}
	see := func(ctx context.Context) (string, error) { return c.injected(ctx, kind, name) }
	steps.Witness = c.request(witnessName, see,
		"get", kinds[kind], name, "-n", c.Namespace, "-o", "yaml")
	if f.Action.Name == fault.ContainerKill {
		restarts := restartsOf(p)
		steps.Returns = true
		steps.Witness = c.request(witnessName, func(ctx context.Context) (string, error) {
			now, err := kube.Get[core.Pod](ctx, c.Cluster, kube.Pods, p.Name)
			if err != nil {
				return "", err
			}
			if n := restartsOf(now); n > restarts || now.UID != p.UID {
				return fmt.Sprintf("the containers of %s were started %d times again, before it was %d", p.Name, n, restarts), nil
			}
			return c.ended(ctx, p.Name, p.UID)
		}, "get", "pod", p.Name, "-n", c.Namespace, "-o", "yaml")
	}
	return nil
}

func restartsOf(p *core.Pod) (n int32) {
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

// injected reads the condition AllInjected of an object of Chaos Mesh.
func (c *cluster) injected(ctx context.Context, kind, name string) (string, error) {
	o, err := c.In(chaosResource(kind)).Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return "", err
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range conditions {
		if m, ok := one.(map[string]any); ok && m["type"] == "AllInjected" && m["status"] == "True" {
			return kind + " " + name + " is injected (AllInjected)", nil
		}
	}
	return "", platform.NotYet(kind + " " + name + " is not injected yet (AllInjected)")
}

// endChaos removes an object of Chaos Mesh and waits until it is gone: its finalizer stays until all is recovered.
func (c *cluster) endChaos(ctx context.Context, kind, name string) error {
	r := c.In(chaosResource(kind))
	err := r.Delete(ctx, name, meta.DeleteOptions{})
	for err == nil {
		if _, err = r.Get(ctx, name, meta.GetOptions{}); err != nil {
			break
		}
		if wait.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("%s %s is not recovered by Chaos Mesh: %w", kind, name, ctx.Err())
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// chaosSpec is the specification of the object for a fault.
func (s *Set) chaosSpec(f spec.Fault, p *core.Pod) (kind string, body map[string]any, err error) {
	only := func(names ...string) map[string]any {
		list := make([]any, len(names))
		for i, n := range names {
			list[i] = n
		}
		return map[string]any{"pods": map[string]any{s.cluster.Namespace: list}}
	}
	container, volume := serverOf(p)
	percent := 100.0
	if f.Probability > 0 {
		percent = 100 * float64(f.Probability)
	}
	body = map[string]any{"mode": "all", "selector": only(p.Name)}
	add := func(more map[string]any) map[string]any { maps.Copy(body, more); return body }
	switch f.Action.Name {
	case fault.ContainerKill:
		return "PodChaos", add(map[string]any{"action": "container-kill", "containerNames": []any{container}}), nil
	case fault.PodPartition:
		var others []string
		for _, o := range s.pods {
			if o.Name != p.Name {
				others = append(others, o.Name)
			}
		}
		if len(others) == 0 {
			return "", nil, fmt.Errorf("%s is the only member, so there is nothing to cut it off from", p.Name)
		}
		return "NetworkChaos", add(map[string]any{"action": "partition", "direction": "both",
			"target": map[string]any{"mode": "all", "selector": only(others...)}}), nil
	case fault.PodDelay:
		return "NetworkChaos", add(map[string]any{"action": "delay", "delay": map[string]any{"latency": f.Delay.Std().String()}}), nil
	case fault.PodLoss:
		return "NetworkChaos", add(map[string]any{"action": "loss",
			"loss": map[string]any{"loss": strconv.FormatFloat(percent, 'f', -1, 64)}}), nil
	case fault.PodClock:
		return "TimeChaos", add(map[string]any{"timeOffset": f.Delay.Std().String(), "containerNames": []any{container}}), nil
	}
	if volume == "" {
		return "", nil, fmt.Errorf("%s has no volume of a claim, and its files are not known without one", p.Name)
	}
	add(map[string]any{"volumePath": volume, "path": volume + "/**/*", "percent": int64(percent), "containerNames": []any{container}})
	if f.Action.Name == fault.PodIODelay {
		return "IOChaos", add(map[string]any{"action": "latency", "delay": f.Delay.Std().String()}), nil
	}
	errno := int64(errnos["EIO"])
	if f.Errno != "" {
		errno = int64(errnos[f.Errno])
	}
	if errno == 0 {
		return "", nil, fmt.Errorf("errno: %q is unknown (known: %s)", f.Errno, strings.Join(slices.Sorted(maps.Keys(errnos)), ", "))
	}
	return "IOChaos", add(map[string]any{"action": "fault", "errno": errno}), nil
}

var errnos = map[string]int{"EIO": 5, "ENOSPC": 28, "EROFS": 30, "EDQUOT": 122, "ENOMEM": 12, "EAGAIN": 11, "EINTR": 4}

// serverOf returns the container of a pod whose port clients use, and where the volume of a claim is in it.
func serverOf(p *core.Pod) (container, volume string) {
	of := port(p)
	c := p.Spec.Containers[0]
	for _, one := range p.Spec.Containers {
		for _, o := range one.Ports {
			if strconv.Itoa(int(o.ContainerPort)) == of {
				c = one
			}
		}
	}
	for _, v := range p.Spec.Volumes {
		for _, m := range c.VolumeMounts {
			if v.PersistentVolumeClaim != nil && m.Name == v.Name && volume == "" {
				volume = m.MountPath
			}
		}
	}
	return c.Name, volume
}
