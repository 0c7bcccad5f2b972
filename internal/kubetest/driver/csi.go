package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const name = "kubetest.csi"

// node mounts volumes on a node. STORAGE is a directory that all nodes have, like a network of storage: VOLUME.attached
// there has the name of the node that may use a volume, and VOLUME.0 and, if it is mirrored, VOLUME.1 are its disks.
type node struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer
	host, storage, socket string
}

func serve(host, kubelet, storage string) error {
	n := &node{host: host, storage: storage, socket: filepath.Join(kubelet, "plugins", name, "csi.sock")}
	volumes, err := listen(n.socket)
	if err != nil {
		return err
	}
	registry, err := listen(filepath.Join(kubelet, "plugins_registry", name+"-reg.sock"))
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	for l, register := range map[net.Listener]func(*grpc.Server){
		volumes: func(s *grpc.Server) {
			csi.RegisterIdentityServer(s, n)
			csi.RegisterNodeServer(s, n)
		},
		registry: func(s *grpc.Server) { registration.RegisterRegistrationServer(s, n) },
	} {
		s := grpc.NewServer()
		register(s)
		go func() { ended <- s.Serve(l) }()
	}
	return <-ended
}

func listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", socket)
}

func (n *node) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: "CSIPlugin", Name: name, Endpoint: n.socket, SupportedVersions: []string{"1.0.0"}}, nil
}

func (n *node) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (
	*registration.RegistrationStatusResponse, error,
) {
	fmt.Println("registered:", s.PluginRegistered, s.Error)
	return &registration.RegistrationStatusResponse{}, nil
}

func (n *node) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: name, VendorVersion: "1"}, nil
}

func (n *node) GetPluginCapabilities(context.Context,
	*csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (n *node) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.host}, nil
}

func (n *node) NodeGetCapabilities(context.Context,
	*csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	rpc := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{Rpc: rpc}}}}, nil
}

// NodeStageVolume mounts a volume for its pods. If it has two disks, both are loop devices of one filesystem.
func (n *node) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	disk := filepath.Join(n.storage, r.VolumeId)
	if has, err := os.ReadFile(disk + ".attached"); err != nil || string(has) != n.host {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached to %q (%v)", r.VolumeId, has, err)
	}
	if mounted(r.StagingTargetPath) {
		return &csi.NodeStageVolumeResponse{}, nil
	}
	options := "loop"
	if _, err := os.Stat(disk + ".1"); err == nil {
		second, err := run("losetup", "--find", "--show", disk+".1")
		if err != nil {
			return nil, err
		}
		// The device is removed with its last use, which is the unmount.
		defer func() { _, _ = run("losetup", "--detach", second) }()
		options = "loop,device=" + second
	}
	if err := os.MkdirAll(r.StagingTargetPath, 0o755); err != nil {
		return nil, err
	}
	_, err := run("mount", "-o", options, disk+".0", r.StagingTargetPath)
	return &csi.NodeStageVolumeResponse{}, err
}

func (n *node) NodeUnstageVolume(_ context.Context,
	r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, unmount(r.StagingTargetPath)
}

func (n *node) NodePublishVolume(_ context.Context,
	r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if mounted(r.TargetPath) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := os.MkdirAll(r.TargetPath, 0o755); err != nil {
		return nil, err
	}
	_, err := run("mount", "--bind", r.StagingTargetPath, r.TargetPath)
	return &csi.NodePublishVolumeResponse{}, err
}

func (n *node) NodeUnpublishVolume(_ context.Context,
	r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return &csi.NodeUnpublishVolumeResponse{}, errors.Join(unmount(r.TargetPath), os.RemoveAll(r.TargetPath))
}

func mounted(dir string) bool { return exec.Command("mountpoint", "-q", dir).Run() == nil }

func unmount(dir string) error {
	if !mounted(dir) {
		return nil
	}
	_, err := run("umount", dir)
	return err
}

func run(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	fmt.Println(program, args, text, err)
	if err != nil {
		return "", status.Errorf(codes.Internal, "%s: %s", program, text)
	}
	return text, nil
}
