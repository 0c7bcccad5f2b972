package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
)

// outOfService is the taint that says that a node is down, so that its pods and volumes may go elsewhere.
var outOfService = core.Taint{Key: core.TaintNodeOutOfService, Value: "nodeshutdown", Effect: core.TaintEffectNoExecute}

// request is a step that consists of requests to the API server. kubectl are the arguments with which a person would do
// the same.
func (c *cluster) request(name string, do func(ctx context.Context) (string, error), kubectl ...string) platform.Step {
	return platform.Request(name, strings.Join(slices.Concat([]string{"kubectl"}, c.Flags(), kubectl), " "), do)
}

// deletePod deletes the pod of that uid. Its replacement of the same name is left alone.
func (c *cluster) deletePod(ctx context.Context, name, uid string, grace *int64) (string, error) {
	id := types.UID(uid)
	o := meta.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &meta.Preconditions{UID: &id}}
	return "", c.In(kube.Pods).Delete(ctx, name, o)
}

// evict asks for the eviction of a pod until the disruption budgets allow it.
func (c *cluster) evict(ctx context.Context, name, uid string) error {
	e := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata":      map[string]any{"name": name, "namespace": c.Namespace},
		"deleteOptions": map[string]any{"preconditions": map[string]any{"uid": uid}},
	}}
	for {
		_, err := c.In(kube.Pods).Create(ctx, e, meta.CreateOptions{}, "eviction")
		if !apierrors.IsTooManyRequests(err) {
			return err
		}
		if wait.Sleep(ctx, 500*time.Millisecond) != nil {
			return fmt.Errorf("a disruption budget does not allow it: %w", err)
		}
	}
}

// cordon changes whether a node takes new pods.
func (c *cluster) cordon(ctx context.Context, node string, on bool) error {
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, on)
	_, err := c.In(kube.Nodes).Patch(ctx, node, types.MergePatchType, []byte(patch), meta.PatchOptions{})
	return err
}

// taint adds a taint to a node, or removes it. Other taints stay as they are, whoever changes them meanwhile.
func (c *cluster) taint(ctx context.Context, node string, on bool) error {
	for {
		n, err := kube.Get[core.Node](ctx, c.Cluster, kube.Nodes, node)
		if err != nil {
			return err
		}
		var rest []core.Taint
		for _, t := range n.Spec.Taints {
			if t.Key != outOfService.Key {
				rest = append(rest, t)
			}
		}
		if on {
			rest = append(rest, outOfService)
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": n.ResourceVersion}, "spec": map[string]any{"taints": rest}})
		if err != nil {
			return err
		}
		_, err = c.In(kube.Nodes).Patch(ctx, node, types.MergePatchType, patch, meta.PatchOptions{})
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// attached are the names of the attachments of a pod's volumes to its node, with their uids.
func (c *cluster) attached(ctx context.Context, p *core.Pod) (map[string]types.UID, error) {
	all, err := kube.List[storage.VolumeAttachment](ctx, c.Cluster, kube.Attachments, "")
	if err != nil {
		return nil, err
	}
	found := map[string]types.UID{}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := kube.Get[core.PersistentVolumeClaim](ctx, c.Cluster, kube.Claims, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			of := a.Spec.Source.PersistentVolumeName
			if of != nil && *of == claim.Spec.VolumeName && a.Spec.NodeName == p.Spec.NodeName {
				found[a.Name] = a.UID
			}
		}
	}
	return found, nil
}

// gone says whether the object of a uid is not there any more, and what is there instead.
func (c *cluster) gone(ctx context.Context, r schema.GroupVersionResource, name string, uid types.UID) (string, error) {
	o, err := c.In(r).Get(ctx, name, meta.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return name + " no longer exists", nil
	case err != nil:
		return "", err
	case o.GetUID() != uid:
		return fmt.Sprintf("%s is another one now (uid %s instead of %s)", name, o.GetUID(), uid), nil
	}
	return "", platform.NotYet(name + " exists")
}

// ended says whether the containers of a pod of a uid have ended.
func (c *cluster) ended(ctx context.Context, name string, uid types.UID) (string, error) {
	text, err := c.gone(ctx, kube.Pods, name, uid)
	if err == nil || !errors.As(err, new(platform.NotYet)) {
		return text, err
	}
	p, err := kube.Get[core.Pod](ctx, c.Cluster, kube.Pods, name)
	if err != nil {
		return "", err
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil {
			return "", platform.NotYet(fmt.Sprintf("container %s of %s runs", s.Name, name))
		}
	}
	if p.UID == uid && len(p.Status.ContainerStatuses) == 0 {
		return "", platform.NotYet(name + " has no containers yet")
	}
	return "the containers of " + name + " have ended", nil
}
