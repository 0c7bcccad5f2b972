package kubernetes

import (
	"context"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
)

var _ platform.Describer = (*Set)(nil)

// The pods with their nodes, zones, volumes and resources as they are now. What the user may not read stays empty.
func (s *Set) Describe(ctx context.Context, round *record.DrillRound) error {
	k := &record.Kubernetes{Namespace: s.cluster.Namespace, Name: s.name, Kind: s.kind}
	all, err := kube.List[core.Pod](ctx, s.cluster.Cluster, kube.Pods, s.selector)
	if err != nil {
		return err
	}
	for _, p := range all {
		r := record.KubernetesPod{Name: p.Name, Node: p.Spec.NodeName,
			Requests: map[string]string{}, Limits: map[string]string{}}
		container, _ := serverOf(&p)
		for _, c := range p.Spec.Containers {
			if c.Name != container {
				continue
			}
			r.Image = c.Image
			for name, q := range c.Resources.Requests {
				r.Requests[string(name)] = q.String()
			}
			for name, q := range c.Resources.Limits {
				r.Limits[string(name)] = q.String()
			}
		}
		n, err := kube.Get[core.Node](ctx, s.cluster.Cluster, kube.Nodes, p.Spec.NodeName)
		switch {
		case err == nil:
			r.Zone = n.Labels[core.LabelTopologyZone]
		case !readable(err):
			return err
		}
		if r.Volumes, err = s.volumes(ctx, &p); err != nil {
			return err
		}
		k.Pods = append(k.Pods, r)
	}
	round.Kubernetes = k
	return nil
}

var _ platform.Chronicler = (*Set)(nil)

// What Kubernetes does to the pods and their volumes.
func (s *Set) Moments() []platform.Moment { return s.watch.list() }

// volumeNames are the claims of all pods by the names of their volumes, as far as the user may read them.
func (s *Set) volumeNames(ctx context.Context) map[string]string {
	names := map[string]string{}
	for _, p := range s.pods {
		all, err := s.volumes(ctx, &p)
		if err != nil {
			continue // the timeline has less
		}
		for _, v := range all {
			if v.Volume != "" {
				names[v.Volume] = v.Claim
			}
		}
	}
	return names
}

// readable says whether an error only means that a fact stays unknown.
func readable(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// volumes are the volumes of a pod that claims have.
func (s *Set) volumes(ctx context.Context, p *core.Pod) (all []record.KubernetesVolume, err error) {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		r := record.KubernetesVolume{Claim: v.PersistentVolumeClaim.ClaimName}
		claim, err := kube.Get[core.PersistentVolumeClaim](ctx, s.cluster.Cluster, kube.Claims, r.Claim)
		if err != nil && !readable(err) {
			return nil, err
		}
		if err == nil {
			size := claim.Status.Capacity[core.ResourceStorage]
			r.Volume, r.Size = claim.Spec.VolumeName, size.String()
			if claim.Spec.StorageClassName != nil {
				r.Class = *claim.Spec.StorageClassName
			}
			volume, err := kube.Get[core.PersistentVolume](ctx, s.cluster.Cluster, kube.Volumes, r.Volume)
			if err != nil && !readable(err) {
				return nil, err
			}
			if err == nil && volume.Spec.CSI != nil {
				r.Driver = volume.Spec.CSI.Driver
			}
		}
		all = append(all, r)
	}
	return all, nil
}
