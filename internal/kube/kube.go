// Package kube is the connection to a Kubernetes: where the cluster is, its resources by name, reading of objects, what
// to do about an error of the API server, and why a pod has not started, in words. What is made, changed and watched
// there is in packages fleet/kubernetes and platform/kubernetes.
package kube

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

// The resources of the API.
var (
	Pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	Events          = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	Services        = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	Secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Nodes           = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	Claims          = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	Volumes         = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	Jobs            = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	StatefulSets    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	NetworkPolicies = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
	Attachments     = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"}
	Classes         = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
)

// ofCluster are the resources without a namespace.
var ofCluster = map[schema.GroupVersionResource]bool{Nodes: true, Volumes: true, Attachments: true, Classes: true}

// Login finds the same cluster again, from another process.
type Login struct {
	Kubeconfig string `json:"kubeconfig,omitempty"` // "" is that of kubectl; in a pod, its service account
	Context    string `json:"context,omitempty"`
	Namespace  string `json:"namespace"`
}

// Flags are those of kubectl for the same.
func (l Login) Flags() (list []string) {
	if l.Kubeconfig != "" {
		list = append(list, "--kubeconfig="+l.Kubeconfig)
	}
	if l.Context != "" {
		list = append(list, "--context="+l.Context)
	}
	return list
}

// Cluster is a connection to the API server.
type Cluster struct {
	Login
	Config *rest.Config
	Client dynamic.Interface
	// Rights are what a person lacks where the API server forbids a request.
	Rights string
}

// Connect reads a kubeconfig. An empty namespace is that of the kubeconfig.
func Connect(l Login) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = l.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: l.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find a Kubernetes cluster: %w. Check with: kubectl cluster-info", err)
	}
	if raw, err := loader.RawConfig(); err == nil && l.Context == "" {
		l.Context = raw.CurrentContext // the user may choose another one before the next connection
	}
	if l.Namespace == "" {
		if l.Namespace, _, err = loader.Namespace(); err != nil {
			return nil, err
		}
	}
	config.QPS = -1 // no limit: a fault must not wait for other requests
	client, err := dynamic.NewForConfig(config)
	return &Cluster{Login: l, Config: config, Client: client}, err
}

// Inside says whether this process runs in a pod, where the names of other pods lead to them.
func Inside() bool {
	_, err := rest.InClusterConfig()
	return err == nil
}

// In are the objects of a resource, in the namespace if it has one.
func (c *Cluster) In(r schema.GroupVersionResource) dynamic.ResourceInterface {
	if ofCluster[r] {
		return c.Client.Resource(r)
	}
	return c.Client.Resource(r).Namespace(c.Namespace)
}

// Get reads an object.
func Get[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, name string) (*T, error) {
	o, err := c.In(r).Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return nil, c.Explain(err, "read "+r.Resource+" "+name)
	}
	t := new(T)
	return t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, t)
}

// List reads the objects with some labels.
func List[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, labels string) ([]T, error) {
	l, err := c.In(r).List(ctx, meta.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, c.Explain(err, "list "+r.Resource)
	}
	all := make([]T, len(l.Items))
	for i := range l.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(l.Items[i].Object, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Explain says what to do about an error of the API server; nil stays nil.
func (c *Cluster) Explain(err error, what string) error {
	next := "Check the connection with: kubectl cluster-info"
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		next = "Create the namespace, or give another one. See: kubectl get all -n " + c.Namespace
	case apierrors.IsForbidden(err):
		next = "Ask for " + c.Rights
	case apierrors.IsUnauthorized(err):
		next = "Log in to the cluster again"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		next = "Check the limits, and that the cluster has Kubernetes 1.33 or later"
	}
	return fmt.Errorf("cannot %s in the namespace %s: %w. %s", what, c.Namespace, err, next)
}
