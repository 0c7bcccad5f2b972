// Package kubernetes breaks a deployment in Kubernetes by requests to its API: a StatefulSet, or the pods that the
// labels of an operator or a chart name.
//
// A [Set] knows the pods, where they are and what volumes they have, and leads the connections of this process to them
// by port-forwards. It is a [platform.Backend]. What Chaos Mesh can inject, it leaves to Chaos Mesh.
package kubernetes
