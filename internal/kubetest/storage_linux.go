package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// The StorageClasses of a cluster. Their volumes must be attached to the node of a pod. A volume of Disk is one image
// of ext4. A volume of Mirrored has a copy on a second image, which btrfs keeps.
const (
	Disk     = "disk"
	Mirrored = "mirrored"
)

const (
	csiDriver = "kubetest.csi"
	finalizer = "external-attacher/" + csiDriver
)

// controller is the part of the driver that real ones run as pods: it makes volumes for claims, and says which node may
// use a volume. It does nothing to a node that has a volume.
type controller struct {
	cluster *Cluster
	storage string
}

// Storage adds the StorageClasses to the cluster. Detach returns when a volume of a lost node is released to others: as
// with real storage, nothing stops that node from writing on.
func (c *Cluster) Storage(t testing.TB) {
	t.Helper()
	yes, no, file, mode := true, false, storage.NoneFSGroupPolicy, storage.VolumeBindingImmediate
	driver := &storage.CSIDriver{ObjectMeta: meta.ObjectMeta{Name: csiDriver},
		Spec: storage.CSIDriverSpec{AttachRequired: &yes, PodInfoOnMount: &no, FSGroupPolicy: &file}}
	ctx := t.Context()
	_, err := c.Client.StorageV1().CSIDrivers().Create(ctx, driver, meta.CreateOptions{})
	for _, name := range []string{Disk, Mirrored} {
		class := &storage.StorageClass{ObjectMeta: meta.ObjectMeta{Name: name}, Provisioner: csiDriver,
			VolumeBindingMode: &mode}
		_, classErr := c.Client.StorageV1().StorageClasses().Create(ctx, class, meta.CreateOptions{})
		err = errors.Join(err, classErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctl := &controller{c, filepath.Join(c.dir, "storage")}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	running.Go(func() {
		for ctx.Err() == nil {
			// A volume that is wanted while another node has it stays an error until that node releases it.
			err := ctl.reconcile(ctx)
			if ctx.Err() != nil {
				return
			}
			if c.storage.set(err); err != nil {
				ctl.log(err)
			}
			_ = wait.Sleep(ctx, 100*time.Millisecond)
		}
	})
}

// trouble is the last error of the controller. It is final if a volume could not be made: nothing mends that.
type trouble struct {
	mu    sync.Mutex
	last  error
	final bool
}

// unmade says that the disks of a volume could not be made.
type unmade struct{ error }

func (t *trouble) set(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.final {
		t.last, t.final = err, errors.As(err, new(unmade))
	}
}

func (t *trouble) known() (last error, final bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, t.final
}

func (c *controller) log(a ...any) {
	f, err := os.OpenFile(filepath.Join(c.cluster.dir, "storage.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close() // it is only for a person who looks for a mistake
	fmt.Fprintln(f, append([]any{time.Now().Format(time.StampMilli)}, a...)...)
}

func (c *controller) reconcile(ctx context.Context) error {
	claims, err := c.cluster.Client.CoreV1().PersistentVolumeClaims("").List(ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims.Items {
		if class := claim.Spec.StorageClassName; claim.Spec.VolumeName == "" && class != nil &&
			(*class == Disk || *class == Mirrored) {
			err = errors.Join(err, c.provision(ctx, &claim))
		}
	}
	all, listErr := c.cluster.Client.StorageV1().VolumeAttachments().List(ctx, meta.ListOptions{})
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, a := range all.Items {
		if a.Spec.Attacher == csiDriver {
			err = errors.Join(err, c.attach(ctx, &a))
		}
	}
	return err
}

// provision makes the volume of a claim.
func (c *controller) provision(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	name, class := "volume-"+string(claim.UID), *claim.Spec.StorageClassName
	_, err := c.cluster.Client.CoreV1().PersistentVolumes().Get(ctx, name, meta.GetOptions{})
	if err == nil {
		return nil // Kubernetes binds it
	}
	size := claim.Spec.Resources.Requests[core.ResourceStorage]
	if err := c.format(name, class, size.Value()); err != nil {
		return unmade{fmt.Errorf("the storage controller cannot make the volume of the claim %s: %w", claim.Name, err)}
	}
	v := &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: core.PersistentVolumeSpec{
		Capacity: core.ResourceList{core.ResourceStorage: size}, AccessModes: claim.Spec.AccessModes, StorageClassName: class,
		PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimRetain, // all of it is removed with the cluster
		ClaimRef: &core.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace,
			Name: claim.Name, UID: claim.UID},
		PersistentVolumeSource: core.PersistentVolumeSource{CSI: &core.CSIPersistentVolumeSource{Driver: csiDriver,
			VolumeHandle: name}}}}
	_, err = c.cluster.Client.CoreV1().PersistentVolumes().Create(ctx, v, meta.CreateOptions{})
	c.log("made", name, "for", claim.Name, err)
	return err
}

// format makes the disks of a volume with a filesystem.
func (c *controller) format(name, class string, size int64) error {
	disks := []string{filepath.Join(c.storage, name) + ".0"}
	format := []string{"mkfs.ext4", "-q", "-F"}
	if class == Mirrored {
		disks = append(disks, filepath.Join(c.storage, name)+".1")
		format = []string{"mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1"}
	}
	for _, disk := range disks {
		f, err := os.OpenFile(disk, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			return err
		}
	}
	format = append(format, disks...)
	if class == Mirrored {
		format = mountinfo.WithoutMounts(format)
	}
	return run(exec.Command(format[0], format[1:]...))
}

// attach gives a volume to a node, or takes it from one.
func (c *controller) attach(ctx context.Context, a *storage.VolumeAttachment) error {
	patch := func(v any, sub ...string) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = c.cluster.Client.StorageV1().VolumeAttachments().Patch(ctx, a.Name, types.MergePatchType, text,
			meta.PatchOptions{}, sub...)
		return err
	}
	status := func(on bool) error {
		return patch(map[string]any{"status": map[string]any{"attached": on}}, "status")
	}
	keep := func(finalizers ...string) error {
		return patch(map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	}
	volume := *a.Spec.Source.PersistentVolumeName
	file := filepath.Join(c.storage, volume+".attached")
	has, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	switch {
	case a.DeletionTimestamp != nil && slices.Contains(a.Finalizers, finalizer):
		if string(has) == a.Spec.NodeName {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
		c.log("detached", volume, "from", a.Spec.NodeName)
		return errors.Join(status(false), keep())
	case a.DeletionTimestamp != nil || a.Status.Attached:
		return nil
	case len(has) > 0 && string(has) != a.Spec.NodeName:
		return fmt.Errorf("%s is attached to %s and wanted by %s", volume, has, a.Spec.NodeName)
	}
	if err := errors.Join(keep(finalizer), os.WriteFile(file, []byte(a.Spec.NodeName), 0o600)); err != nil {
		return err
	}
	c.log("attached", volume, "to", a.Spec.NodeName)
	return status(true)
}
