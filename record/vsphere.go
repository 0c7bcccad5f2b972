package record

// VSphere is what vCenter reports of the machines of a deployment.
type VSphere struct {
	// Version is the product with its version and build.
	Version    string             `json:"version"`
	Machines   []VSphereMachine   `json:"machines"`
	Hosts      []VSphereHost      `json:"hosts"`
	Datastores []VSphereDatastore `json:"datastores"`
	Clusters   []VSphereCluster   `json:"clusters"`
	// Problems are what could not be read, in one sentence each.
	Problems []string `json:"problems,omitempty"`
}

// VSphereMachine is the virtual machine of a member.
type VSphereMachine struct {
	Member string        `json:"member"`
	Name   string        `json:"name"`
	Host   string        `json:"host"`
	CPUs   int           `json:"cpus"`
	Memory int64         `json:"memory_bytes"`
	Disks  []VSphereDisk `json:"disks"`
}

// VSphereDisk is a virtual disk.
type VSphereDisk struct {
	Label     string `json:"label"`
	Bytes     int64  `json:"bytes"`
	Datastore string `json:"datastore"`
	// Policies are the names of its storage policies, and Compliance is whether it complies.
	Policies   []string `json:"policies,omitempty"`
	Compliance string   `json:"compliance,omitempty"`
}

// VSphereHost is a host of a member's machine.
type VSphereHost struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster,omitempty"`
	Version string `json:"version"`
	Model   string `json:"model"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Memory  int64  `json:"memory_bytes"`
}

// VSphereDatastore is a datastore of a member's machine.
type VSphereDatastore struct {
	Name string `json:"name"`
	// Type is "vsan", "VMFS", "NFS" or another one.
	Type     string `json:"type"`
	Capacity int64  `json:"capacity_bytes"`
	Free     int64  `json:"free_bytes"`
}

// VSphereCluster is a cluster of a member's host, with the settings that decide what a failure does.
type VSphereCluster struct {
	Name string `json:"name"`
	// HA starts machines on other hosts when their host fails. Monitoring is what it watches of hosts and of machines.
	HA                bool   `json:"ha"`
	HostMonitoring    string `json:"host_monitoring,omitempty"`
	MachineMonitoring string `json:"machine_monitoring,omitempty"`
	AdmissionControl  bool   `json:"admission_control"`
	// DRS moves machines, and Automation says whether it asks a person.
	DRS        bool   `json:"drs"`
	Automation string `json:"automation,omitempty"`
	VSAN       bool   `json:"vsan"`
}

// StorageChange is the change of the storage policy of the disks of all members.
type StorageChange struct {
	Policy string `json:"policy"`
	// Rules are the capabilities that the policy requires, such as VSAN.stripeWidth = 4, in the order of their names.
	Rules []string `json:"rules,omitempty"`
	// Disks is how many disks the members have, and Changed how many of them had another policy.
	Disks   int `json:"disks"`
	Changed int `json:"changed"`
	// Compliance is "compliant", or "notApplicable" if the datastore has no compliance.
	Compliance string `json:"compliance,omitempty"`
	// Seconds is the time from the first request until all disks complied.
	Seconds float64 `json:"seconds"`
	// Resync is what vSAN copied meanwhile; absent if vSAN does not report it, and ResyncProblem says why.
	Resync        *Resync `json:"resync,omitempty"`
	ResyncProblem string  `json:"resync_problem,omitempty"`
}

// Resync is the copying of data between the disks of the vSAN clusters of the members, for all their objects.
type Resync struct {
	// Objects and Bytes are the most that were to be copied at one time.
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Seconds is the time from the first request until nothing was to be copied.
	Seconds float64 `json:"seconds"`
}
