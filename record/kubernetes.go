package record

// Kubernetes is a deployment in Kubernetes before the load of a round.
type Kubernetes struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind is how it was found: a StatefulSet, or the labels of an operator or a chart.
	Kind string          `json:"kind"`
	Pods []KubernetesPod `json:"pods"`
}

// KubernetesPod is the pod of one member.
type KubernetesPod struct {
	Name string `json:"name"`
	Node string `json:"node"`
	// Zone is the zone of the node, if the node has the label and the user may read it.
	Zone  string `json:"zone,omitempty"`
	Image string `json:"image,omitempty"`
	// Requests and Limits are those of the container of the server, by resource.
	Requests map[string]string  `json:"requests,omitempty"`
	Limits   map[string]string  `json:"limits,omitempty"`
	Volumes  []KubernetesVolume `json:"volumes,omitempty"`
}

// KubernetesVolume is a volume that a claim of a pod has.
type KubernetesVolume struct {
	Claim  string `json:"claim"`
	Volume string `json:"volume,omitempty"`
	// Class is the StorageClass, and Driver the CSI driver.
	Class  string `json:"class,omitempty"`
	Driver string `json:"driver,omitempty"`
	Size   string `json:"size,omitempty"`
}
