package fault

import (
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Kubernetes is the platform of the actions on pods and on their nodes.
const Kubernetes = "Kubernetes"

// The names of the actions that only Kubernetes has. Those from ContainerKill on need Chaos Mesh in the cluster.
const (
	PodDelete        = "pod-delete"
	PodKill          = "pod-kill"
	NodeDrain        = "node-drain"
	NodeOutOfService = "node-out-of-service"
	VolumeDetach     = "volume-detach"
	ContainerKill    = "container-kill"
	PodPartition     = "pod-partition"
	PodDelay         = "pod-delay"
	PodLoss          = "pod-loss"
	PodIODelay       = "pod-io-delay"
	podIOError       = "pod-io-error"
	PodClock         = "pod-clock"
)

var onKubernetes = []Action{
	{Name: PodDelete, On: Member, Platform: Kubernetes, Help: "its pod is deleted, with the grace period of the pod",
		Mode: Planned, HandsOver: true},
	{Name: PodKill, On: Member, Platform: Kubernetes, Help: "its pod is deleted without grace period",
		Mode: Crash, TakesDown: true},
	{Name: NodeDrain, On: Host, Platform: Kubernetes, Help: "its node takes no new pods, and the members on it are evicted",
		Mode: Planned, Lasts: true, HandsOver: true},
	{Name: NodeOutOfService, On: Host, Platform: Kubernetes, Help: "its node gets the taint out-of-service: all pods on it are deleted, and their volumes detached",
		Mode: Planned, Lasts: true, HandsOver: true},
	{Name: VolumeDetach, On: Member, Platform: Kubernetes, Help: "the attachments of its volumes are deleted", Mode: Storage},
	{Name: ContainerKill, On: Member, Platform: Kubernetes, Help: "SIGKILL for its container, which starts again in the same pod, by Chaos Mesh",
		Mode: Crash, TakesDown: true},
	{Name: PodPartition, On: Member, Platform: Kubernetes, Help: "packets between its pod and the other members are dropped, by Chaos Mesh",
		Mode: Planned, Lasts: true, HandsOver: true},
	{Name: PodDelay, On: Member, Platform: Kubernetes, Help: "packets of its pod are late by the delay, by Chaos Mesh", Takes: []string{"delay"},
		Mode: Late, Lasts: true, Check: needsDelay},
	{Name: PodLoss, On: Member, Platform: Kubernetes, Help: "a share of the packets of its pod is dropped, by Chaos Mesh", Takes: []string{"probability"},
		Mode: Late, Lasts: true},
	{Name: PodIODelay, On: Member, Platform: Kubernetes, Help: "each request to its files takes longer by the delay, by Chaos Mesh",
		Takes: []string{"delay", "probability"}, Mode: Late, Lasts: true, Check: needsDelay},
	{Name: podIOError, On: Member, Platform: Kubernetes, Help: "requests to its files fail, by Chaos Mesh", Takes: []string{"errno", "probability"},
		Mode: Storage, Lasts: true},
	{Name: PodClock, On: Member, Platform: Kubernetes, Help: "its clock is ahead by the delay, by Chaos Mesh", Takes: []string{"delay"},
		Mode: Unknown, Lasts: true, Check: needsDelay},
}

func needsDelay(f spec.Fault) error {
	if f.Delay == 0 {
		return Refuse("%s needs a delay, such as delay: 20ms", f.Action.Name)
	}
	return nil
}
