package spec

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// LabKubernetes is the mode of hosts that are the nodes of a Kubernetes.
const LabKubernetes = "kubernetes"

// LabPods is what only a lab in a Kubernetes has. Its members are the pods of a StatefulSet. The limits of hosts are
// those of each pod, and the size of the storage is that of each claim.
type LabPods struct {
	// Namespace has all that the lab makes, and must exist; absent, that of the kubeconfig.
	Namespace string `json:"namespace,omitempty" yaml:"namespace,omitempty"`
	// Image is the container image of the server. The program is mongod on its PATH, or the binary of the engine.
	Image string `json:"image,omitempty" yaml:"image,omitempty"`
	// StorageClass is that of each member's volume; absent, that which the cluster gives by default.
	StorageClass string `json:"storage_class,omitempty" yaml:"storage_class,omitempty"`
	// Requests are the cores and the memory that the scheduler reserves for each pod; absent, the limits of the hosts.
	Requests *HostLimits `json:"requests,omitempty" yaml:"requests,omitempty"`
	// Spread is what members are spread over evenly: "node", "zone" or a label of nodes; absent, the scheduler decides.
	Spread string `json:"spread,omitempty" yaml:"spread,omitempty"`
}

// InKubernetes says whether the hosts of a lab are nodes of a Kubernetes.
func (s *Lab) InKubernetes() bool { return s.Hosts.Mode == LabKubernetes || s.Kubernetes != nil }

func (s *Lab) podDefaults() {
	def(&s.Hosts.Mode, LabKubernetes)
	def(&s.Engine.Name, LabMongod)
	def(&s.Storage.Size, 10<<30)
	def(&s.Deadline, Duration(300e9)) // a cloud makes and attaches a volume in one or two minutes
}

var (
	validNamespace = name(63, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	validClass     = name(253, `^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	validLabelKey  = name(253, `^[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?$`)
)

// name returns whether a text has a pattern and at most longest bytes. A pattern that counts to 253 takes a millisecond
// to compile, at every start.
func name(longest int, pattern string) func(string) bool {
	re := expression.New(pattern)
	return func(s string) bool { return len(s) <= longest && re().MatchString(s) }
}

func (s *Lab) checkPods() error {
	k := s.Kubernetes
	if k == nil {
		return errors.New("hosts.mode: kubernetes needs the key kubernetes, with the image of the server")
	}
	var errs []error
	wrong := func(when bool, format string, a ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	wrong(s.Hosts.Mode != LabKubernetes, "hosts.mode: %s is not for a lab in Kubernetes. Remove it", s.Hosts.Mode)
	wrong(k.Image == "", "kubernetes.image: it is missing. Name an image with mongod, such as mongo:8.0")
	wrong(k.Namespace != "" && !validNamespace(k.Namespace), "kubernetes.namespace: %q is not a namespace", k.Namespace)
	wrong(k.StorageClass != "" && !validClass(k.StorageClass), "kubernetes.storage_class: %q is not a StorageClass", k.StorageClass)
	wrong(k.Spread != "" && !validLabelKey(k.Spread), "kubernetes.spread: %q is neither node, zone nor a label of nodes", k.Spread)
	hosts := Hosts{Mode: s.Hosts.Mode, Cores: s.Hosts.Cores, Memory: s.Hosts.Memory}
	wrong(s.Hosts != hosts, "hosts: a lab in Kubernetes has only cores and memory here: the limits of each pod")
	wrong(!reflect.DeepEqual(s.Storage, Storage{Size: s.Storage.Size}),
		"storage: a lab in Kubernetes has only size here. The storage policy is that of kubernetes.storage_class")
	wrong(s.Availability != Availability{}, "availability: Kubernetes restarts pods itself. Remove it")
	e := s.Engine
	wrong(e.Name != LabMongod, "engine.name: a lab in Kubernetes runs mongod, not %s. Deploy another engine yourself, and "+
		"break it with the target k8s:NAMESPACE/NAME", e.Name)
	wrong(e.Version != "", "engine.version: it is that of kubernetes.image. Remove it")
	wrong(e.Authentication || e.TLS, "engine: a lab in Kubernetes always has authentication, and no tls. Remove them")
	wrong(len(e.Roles()) > 1 || s.Topology.Arbiter || s.Topology.Kind == LabSharded,
		"topology: a lab in Kubernetes is a standalone or a replica set without arbiters")
	if k.Requests != nil {
		errs = append(errs, limits("kubernetes.requests", k.Requests.Cores, k.Requests.Memory))
		wrong(s.Hosts.Cores > 0 && k.Requests.Cores > s.Hosts.Cores, "kubernetes.requests.cores: %v is more than the limit hosts.cores, %v",
			k.Requests.Cores, s.Hosts.Cores)
		wrong(s.Hosts.Memory > 0 && k.Requests.Memory > s.Hosts.Memory,
			"kubernetes.requests.memory: %v is more than the limit hosts.memory, %v", k.Requests.Memory, s.Hosts.Memory)
	}
	return errors.Join(append(errs, s.checkMongod())...)
}
