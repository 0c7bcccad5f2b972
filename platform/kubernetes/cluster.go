package kubernetes

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes        = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	volumes      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	attachments  = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"}
)

// login finds the same cluster again, from another process.
type login struct {
	Kubeconfig string `json:"kubeconfig,omitempty"` // "" is that of kubectl; in a pod, its service account
	Context    string `json:"context,omitempty"`
	Namespace  string `json:"namespace"`
}

// flags are those of kubectl for the same.
func (l login) flags() (list []string) {
	if l.Kubeconfig != "" {
		list = append(list, "--kubeconfig="+l.Kubeconfig)
	}
	if l.Context != "" {
		list = append(list, "--context="+l.Context)
	}
	return list
}

// cluster is a connection to the API server.
type cluster struct {
	login
	config *rest.Config
	client dynamic.Interface
}

func connect(l login) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = l.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: l.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find a Kubernetes cluster: %w. Check with: kubectl cluster-info", err)
	}
	if raw, err := loader.RawConfig(); err == nil && l.Context == "" {
		l.Context = raw.CurrentContext // the user may choose another one before the fault is reverted
	}
	if l.Namespace == "" {
		if l.Namespace, _, err = loader.Namespace(); err != nil {
			return nil, err
		}
	}
	config.QPS = -1 // no limit: a fault must not wait for the queries of roles
	client, err := dynamic.NewForConfig(config)
	return &cluster{l, config, client}, err
}

// inside says whether this process runs in a pod, where the names of the members lead to them.
func inside() bool {
	_, err := rest.InClusterConfig()
	return err == nil
}

func (c *cluster) in(r schema.GroupVersionResource) dynamic.ResourceInterface {
	switch r {
	case nodes, volumes, attachments:
		return c.client.Resource(r)
	}
	return c.client.Resource(r).Namespace(c.Namespace)
}

// get reads an object.
func get[T any](ctx context.Context, c *cluster, r schema.GroupVersionResource, name string) (*T, error) {
	o, err := c.in(r).Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return nil, c.explain(err, "read "+r.Resource+" "+name)
	}
	t := new(T)
	return t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, t)
}

// list reads the objects with some labels.
func list[T any](ctx context.Context, c *cluster, r schema.GroupVersionResource, labels string) ([]T, error) {
	l, err := c.in(r).List(ctx, meta.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, c.explain(err, "list "+r.Resource)
	}
	all := make([]T, len(l.Items))
	for i := range l.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(l.Items[i].Object, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// explain says what to do about an error of the API server.
func (c *cluster) explain(err error, what string) error {
	next := "Check the connection with: kubectl cluster-info"
	switch {
	case apierrors.IsNotFound(err):
		next = "See: kubectl get all -n " + c.Namespace
	case apierrors.IsForbidden(err):
		next = "Ask for this right in the namespace and, for nodes and volumes, in the cluster"
	case apierrors.IsUnauthorized(err):
		next = "Log in to the cluster again"
	}
	return fmt.Errorf("cannot %s in the namespace %s: %w. %s", what, c.Namespace, err, next)
}
