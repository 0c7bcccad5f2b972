# The first process of a node, in mount and process namespaces of its own: NODE RUN PKI DEBS PAUSE CUBE ADDRESS PODS GROUP DRIVER STORAGE DNS
set -e
node=$1 run=$2 pki=$3 debs=$4 pause=$5 cube=$6 address=$7 pods=$8 group=$9 driver=${10} storage=${11} dns=${12}
export PATH=$debs/usr/bin:$debs/usr/sbin:$PATH
mount --make-rprivate /
mount -t proc proc /proc
# The copies of mounted virtual disks, such as those of labs, would keep those disks in use for as long as this node runs.
# What the node itself uses is busy, and stays.
tac /proc/self/mounts | while read -r source point type _; do
	point=$(printf %b "$point")
	case $run in "${point%/}"/*) continue ;; esac
	case $type:$source in fuse* | *:/dev/loop* | *:/dev/md* | *:/dev/mapper/* | *:/dev/dm-*) umount "$point" || true ;; esac
done
for dir in /run /var/lib /var/log; do mount -t tmpfs tmpfs $dir; done
for dir in /var/lib/kubelet /var/lib/containerd /var/log/pods; do
	mkdir -p $dir $run$dir
	mount --bind $run$dir $dir
done
mkdir -p /run/lock /run/etc/cni
# The kubelet sets these for the whole machine. It sees that they are set already.
while read -r name value; do
	echo $value >/run/etc/${name##*/}
	mount --bind /run/etc/${name##*/} /proc/sys/$name
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END
mount --make-rshared /
: >/run/etc/resolv.conf
cat >/run/etc/cni/10.conflist <<END
{"cniVersion": "0.4.0", "name": "kubetest", "plugins": [{"type": "ptp", "ipam": {"type": "host-local",
 "subnet": "$pods", "dataDir": "/run/cni", "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
# Without CAP_SYS_RESOURCE, runc cannot lower the OOM scores that the kubelet asks for.
cat >/run/etc/containerd.toml <<END
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause"
  disable_hugetlb_controller = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$debs/usr/lib/cni"
    conf_dir = "/run/etc/cni"
END
cat >/run/etc/kubelet.yaml <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: $group
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/$node.crt
tlsPrivateKeyFile: $pki/$node.key
resolvConf: /run/etc/resolv.conf
clusterDNS: ["$dns"]
clusterDomain: cluster.local
failSwapOn: false
makeIPTablesUtilChains: false
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 4
volumePluginDir: /var/lib/kubelet/volumeplugins
evictionHard: {memory.available: "50Mi", nodefs.available: "1%", imagefs.available: "1%", nodefs.inodesFree: "1%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
END
containerd --config /run/etc/containerd.toml &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
ctr -n k8s.io images import $debs/../pause.tar
$cube kubelet --config=/run/etc/kubelet.yaml --kubeconfig=$pki/$node.kubeconfig --root-dir=/var/lib/kubelet \
	--hostname-override=$node --node-ip=$address &
$driver $node /var/lib/kubelet $storage &
set +e
while :; do wait -n || sleep 1; done # also reaps what containers leave
