package vspheretest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	"github.com/vmware/govmomi/vsan"
	vsanmethods "github.com/vmware/govmomi/vsan/methods"
	vsantypes "github.com/vmware/govmomi/vsan/types"
)

// The policies that the simulator has.
const (
	Standard   = "vSAN Default Storage Policy"
	StandardID = "aa6d5a82-1c88-45da-85d3-3d74b91a5bad"
	Other      = "VVol No Requirements Policy"
	OtherID    = "f4e5bade-15a2-4805-bf8e-52318c4ce443"
)

// Array adds to the simulator what it lacks: disks have policies, comply with them after some queries, and are copied
// by vSAN meanwhile.
type Array struct {
	// Takes is the number of queries until a disk complies with another policy.
	Takes int

	mu       sync.Mutex
	policies map[string]string // by the keys of disks
	changed  int               // times that a disk got another policy
	rebuild  int               // queries until disks comply
}

// profiles are the storage policies with the disks that have them.
type profiles struct {
	*pbmsim.ProfileManager
	array *Array
}

func (p *profiles) PbmQueryAssociatedProfiles(req *pbmtypes.PbmQueryAssociatedProfiles) soap.HasFault {
	p.array.mu.Lock()
	defer p.array.mu.Unlock()
	res := &pbmtypes.PbmQueryAssociatedProfilesResponse{}
	for _, e := range req.Entities {
		res.Returnval = append(res.Returnval, pbmtypes.PbmQueryProfileResult{Object: e,
			ProfileId: []pbmtypes.PbmProfileId{{UniqueId: p.array.policies[e.Key]}}})
	}
	return &pbmmethods.PbmQueryAssociatedProfilesBody{Res: res}
}

// compliance answers whether disks comply.
type compliance struct{ *Array }

func (c *compliance) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "PbmComplianceManager", Value: "complianceManager"}
}

func (c *compliance) check(entities []pbmtypes.PbmServerObjectRef) (list []pbmtypes.PbmComplianceResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := pbmtypes.PbmComplianceStatusCompliant
	if c.rebuild > 0 {
		status = pbmtypes.PbmComplianceStatusNonCompliant
	}
	for _, e := range entities {
		list = append(list, pbmtypes.PbmComplianceResult{Entity: e, ComplianceStatus: string(status)})
	}
	return list
}

func (c *compliance) PbmCheckCompliance(req *pbmtypes.PbmCheckCompliance) soap.HasFault {
	return &pbmmethods.PbmCheckComplianceBody{Res: &pbmtypes.PbmCheckComplianceResponse{Returnval: c.check(req.Entities)}}
}

func (c *compliance) PbmFetchComplianceResult(req *pbmtypes.PbmFetchComplianceResult) soap.HasFault {
	res := &pbmtypes.PbmFetchComplianceResultResponse{Returnval: c.check(req.Entities)}
	return &pbmmethods.PbmFetchComplianceResultBody{Res: res}
}

// copier answers what vSAN copies.
type copier struct{ *Array }

func (c *copier) Reference() types.ManagedObjectReference {
	return vsan.VsanQueryObjectIdentitiesInstance
}

func (c *copier) QuerySyncingVsanObjectsSummary(*vsantypes.QuerySyncingVsanObjectsSummary) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	res := &vsantypes.QuerySyncingVsanObjectsSummaryResponse{}
	if c.rebuild > 0 {
		c.rebuild--
		res.Returnval.TotalObjectsToSync, res.Returnval.TotalBytesToSync = int64(c.rebuild), int64(c.rebuild)<<30
	}
	return &vsanmethods.QuerySyncingVsanObjectsSummaryBody{Res: res}
}

// AddArray makes the cluster one with vSAN, whose disks have the standard policy.
func (c *Center) AddArray() *Array {
	a := &Array{policies: map[string]string{}, Takes: 3}
	storage := pbmsim.New()
	manager := storage.Get(types.ManagedObjectReference{Type: "PbmProfileProfileManager",
		Value: "ProfileManager"}).(*pbmsim.ProfileManager)
	storage.Put(&profiles{manager, a})
	storage.Put(&compliance{a})
	c.Model.Service.RegisterSDK(storage)
	copies := simulator.NewRegistry()
	copies.Namespace, copies.Path = vsan.Namespace, vsan.Path
	copies.Put(&copier{a})
	c.Model.Service.RegisterSDK(copies)
	for _, e := range c.Model.Map().All("VirtualMachine") {
		a.policies[e.Reference().Value+":"+"204"] = StandardID
	}
	cluster := c.Model.Map().Any("ClusterComputeResource").(*simulator.ClusterComputeResource)
	on := true
	cluster.ConfigurationEx.(*types.ClusterConfigInfoEx).VsanConfigInfo = &types.VsanClusterConfigInfo{Enabled: &on}
	gate := a.Adopt
	c.Gate.Store(&gate)
	return a
}

// Adopt is the gate of a vCenter with an array: it reads the policies of a request that reconfigures a virtual machine,
// which the simulator ignores.
func (a *Array) Adopt(_ http.ResponseWriter, _ *http.Request, body string) bool {
	var envelope struct {
		Body struct {
			Request *types.ReconfigVMRequestType `xml:"ReconfigVM_Task"`
		}
	}
	d := xml.NewDecoder(strings.NewReader(body))
	d.TypeFunc = types.TypeFunc()
	if d.Decode(&envelope) != nil || envelope.Body.Request == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, change := range envelope.Body.Request.Spec.DeviceChange {
		disk := change.GetVirtualDeviceConfigSpec()
		for _, p := range disk.Profile {
			key := fmt.Sprintf("%s:%d", envelope.Body.Request.This.Value, disk.Device.GetVirtualDevice().Key)
			switch p := p.(type) {
			case *types.VirtualMachineDefinedProfileSpec:
				a.policies[key] = p.ProfileId
			case *types.VirtualMachineEmptyProfileSpec:
				delete(a.policies, key)
			}
			a.changed++
			a.rebuild = a.Takes
		}
	}
	return false
}

// Policies are the identifiers of the policies of the disks, by the keys of the disks.
func (a *Array) Policies() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.policies)
}

// Changed is how often a disk got a policy.
func (a *Array) Changed() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}
