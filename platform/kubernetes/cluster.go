package kubernetes

import "github.com/plimsoll-bench/plimsoll/internal/kube"

// cluster is the connection to the cluster with the deployment.
type cluster struct{ *kube.Cluster }

func connect(l kube.Login) (*cluster, error) {
	c, err := kube.Connect(l)
	if err != nil {
		return nil, err
	}
	c.Rights = "this right in the namespace and, for nodes and volumes, in the cluster"
	return &cluster{c}, nil
}
