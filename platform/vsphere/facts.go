package vsphere

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/record"
)

func (b *Backend) Describe(ctx context.Context, round *record.DrillRound) error {
	round.VSphere = b.Facts(ctx)
	return nil
}

// Facts reads what vCenter reports of the machines of the members. What cannot be read is named in the result.
func (b *Backend) Facts(ctx context.Context) *record.VSphere {
	ctx, cancel := context.WithTimeout(ctx, b.client.spec.Timeout.Std())
	defer cancel()
	r := &reader{client: b.client, facts: &record.VSphere{Version: b.client.vim.ServiceContent.About.FullName,
		Machines: []record.VSphereMachine{}, Hosts: []record.VSphereHost{}, Datastores: []record.VSphereDatastore{},
		Clusters: []record.VSphereCluster{}}, names: map[types.ManagedObjectReference]string{}}
	r.problem("log in", b.client.ready(ctx))
	for _, member := range slices.Sorted(maps.Keys(b.vms)) {
		r.machine(ctx, member, b.vms[member].Reference())
	}
	r.policies(ctx)
	return r.facts
}

// reader reads facts, each object once.
type reader struct {
	*client
	facts *record.VSphere
	names map[types.ManagedObjectReference]string
	disks []diskOf
}

// diskOf is a disk with its place in the facts.
type diskOf struct {
	entity        pbmtypes.PbmServerObjectRef
	machine, disk int
}

// problem notes what could not be read.
func (r *reader) problem(what string, err error) bool {
	if err != nil {
		r.facts.Problems = append(r.facts.Problems, r.explain(context.Background(), "read "+what, err).Error())
	}
	return err != nil
}

// read reads properties of an object.
func (r *reader) read(ctx context.Context, of types.ManagedObjectReference, paths []string, into any) bool {
	return !r.problem(of.String(), property.DefaultCollector(r.vim).RetrieveOne(ctx, of, paths, into))
}

func (r *reader) machine(ctx context.Context, member string, ref types.ManagedObjectReference) {
	var v mo.VirtualMachine
	if !r.read(ctx, ref, []string{"name", "config.hardware", "runtime.host", "datastore"}, &v) || v.Config == nil {
		return
	}
	m := record.VSphereMachine{Member: member, Name: v.Name, CPUs: int(v.Config.Hardware.NumCPU),
		Memory: int64(v.Config.Hardware.MemoryMB) << 20, Disks: []record.VSphereDisk{}}
	if v.Runtime.Host != nil {
		m.Host = r.host(ctx, *v.Runtime.Host)
	}
	for _, d := range v.Datastore {
		r.datastore(ctx, d)
	}
	list := object.VirtualDeviceList(v.Config.Hardware.Device)
	for _, d := range list.SelectByType((*types.VirtualDisk)(nil)) {
		disk := d.(*types.VirtualDisk)
		f := record.VSphereDisk{Label: list.Name(d), Bytes: max(disk.CapacityInBytes, disk.CapacityInKB<<10)}
		if backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			if store := backing.GetVirtualDeviceFileBackingInfo().Datastore; store != nil {
				f.Datastore = r.names[*store]
			}
		}
		r.disks = append(r.disks, diskOf{pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualDiskId),
			Key: fmt.Sprintf("%s:%d", ref.Value, disk.Key), ServerUuid: r.vim.ServiceContent.About.InstanceUuid},
			len(r.facts.Machines), len(m.Disks)})
		m.Disks = append(m.Disks, f)
	}
	r.facts.Machines = append(r.facts.Machines, m)
}

func (r *reader) host(ctx context.Context, ref types.ManagedObjectReference) string {
	if name, ok := r.names[ref]; ok {
		return name
	}
	var h mo.HostSystem
	if !r.read(ctx, ref, []string{"name", "parent", "summary"}, &h) {
		return ""
	}
	r.names[ref] = h.Name
	f := record.VSphereHost{Name: h.Name}
	if p := h.Summary.Config.Product; p != nil {
		f.Version = p.FullName
	}
	if w := h.Summary.Hardware; w != nil {
		f.Model, f.CPU, f.Cores, f.Memory = w.Vendor+" "+w.Model, w.CpuModel, int(w.NumCpuCores), w.MemorySize
	}
	if h.Parent != nil && h.Parent.Type == "ClusterComputeResource" {
		f.Cluster = r.cluster(ctx, *h.Parent)
	}
	r.facts.Hosts = append(r.facts.Hosts, f)
	return h.Name
}

func (r *reader) datastore(ctx context.Context, ref types.ManagedObjectReference) {
	var d mo.Datastore
	if _, ok := r.names[ref]; ok || !r.read(ctx, ref, []string{"summary"}, &d) {
		return
	}
	r.names[ref] = d.Summary.Name
	r.facts.Datastores = append(r.facts.Datastores, record.VSphereDatastore{Name: d.Summary.Name, Type: d.Summary.Type,
		Capacity: d.Summary.Capacity, Free: d.Summary.FreeSpace})
}

func (r *reader) cluster(ctx context.Context, ref types.ManagedObjectReference) string {
	if name, ok := r.names[ref]; ok {
		return name
	}
	var c mo.ClusterComputeResource
	if !r.read(ctx, ref, []string{"name", "configurationEx"}, &c) {
		return ""
	}
	r.names[ref] = c.Name
	f := record.VSphereCluster{Name: c.Name}
	if x, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
		f.HA, f.AdmissionControl = isTrue(x.DasConfig.Enabled), isTrue(x.DasConfig.AdmissionControlEnabled)
		f.HostMonitoring, f.MachineMonitoring = x.DasConfig.HostMonitoring, x.DasConfig.VmMonitoring
		f.DRS, f.Automation = isTrue(x.DrsConfig.Enabled), string(x.DrsConfig.DefaultVmBehavior)
		f.VSAN = x.VsanConfigInfo != nil && isTrue(x.VsanConfigInfo.Enabled)
	}
	r.facts.Clusters = append(r.facts.Clusters, f)
	return c.Name
}

// policies reads the storage policy of each disk, and whether the disk complies.
func (r *reader) policies(ctx context.Context) {
	if len(r.disks) == 0 {
		return
	}
	p, err := pbm.NewClient(ctx, r.vim)
	if r.problem("the storage policies", err) {
		return
	}
	var entities []pbmtypes.PbmServerObjectRef
	for _, d := range r.disks {
		entities = append(entities, d.entity)
	}
	disk := func(of pbmtypes.PbmServerObjectRef) *record.VSphereDisk {
		i := slices.IndexFunc(r.disks, func(d diskOf) bool { return d.entity.Key == of.Key })
		if i < 0 {
			return &record.VSphereDisk{}
		}
		return &r.facts.Machines[r.disks[i].machine].Disks[r.disks[i].disk]
	}
	associated, err := p.QueryAssociatedProfiles(ctx, entities)
	if r.problem("the storage policies of disks", err) {
		return
	}
	for _, a := range associated {
		for _, id := range a.ProfileId {
			name, err := p.GetProfileNameByID(ctx, id.UniqueId)
			if !r.problem("the name of a storage policy", err) {
				d := disk(a.Object)
				d.Policies = append(d.Policies, name)
			}
		}
	}
	results, err := p.FetchComplianceResult(ctx, entities)
	if r.problem("the compliance of disks", err) {
		return
	}
	for _, c := range results {
		disk(c.Entity).Compliance = c.ComplianceStatus
	}
}
