// Package kubetest starts a real Kubernetes for tests: etcd, an API server, a controller manager and a scheduler as
// processes, and two nodes, each a kubelet with containerd in namespaces and control groups of its own. The test
// answers the questions of pods for the names of headless Services and their pods. No other Services work, except that
// of the API server. Network policies are accepted and not enforced. [Cluster.Storage] adds StorageClasses.
//
// It needs root, control groups and the programs that [Install] builds and downloads, which takes about 10
// minutes of CPU once (go run ./internal/kubetest/install). A test that cannot run writes that to the log. With
// PLIMSOLL_REQUIRE_KUBERNETES=1, which CI sets, missing programs are a failure.
//
// Only one cluster runs at a time on a machine: other tests wait for it. It ends with the process of the test, however
// that ends. The next [Start] removes the files and control groups that are left then.
package kubetest
