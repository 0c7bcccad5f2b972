package fault

// VSphere is the platform of the actions on virtual machines and on their hosts.
const VSphere = "vSphere"

// The names of the actions that only vSphere has.
const (
	VMPowerOff      = "vm-power-off"
	VMReset         = "vm-reset"
	VMCut           = "vm-cut"
	HostDisconnect  = "host-disconnect"
	HostMaintenance = "host-maintenance"
	HostPowerOff    = "host-power-off"
)

var onVSphere = []Action{
	{Name: VMPowerOff, On: Member, Platform: VSphere, Lasts: true, TakesDown: true, Mode: BlackHole,
		Help: "the virtual machine is powered off at once, without its guest"},
	{Name: VMReset, On: Member, Platform: VSphere, Mode: BlackHole,
		Help: "the virtual machine is reset; its guest starts again"},
	{Name: VMCut, On: Member, Platform: VSphere, Lasts: true, TakesDown: true, Mode: BlackHole,
		Help: "all network adapters of the virtual machine are disconnected"},
	{Name: HostDisconnect, On: Host, Platform: VSphere, Lasts: true, Mode: Unknown,
		Help: "vCenter disconnects the host, whose virtual machines run on without HA and DRS"},
	{Name: HostMaintenance, On: Host, Platform: VSphere, Lasts: true, Mode: Late,
		Help: "the host enters maintenance mode after all its virtual machines have left it"},
	{Name: HostPowerOff, On: Host, Platform: VSphere, Lasts: true, TakesDown: true, Mode: BlackHole,
		Help: "the host is shut down by force, with all its virtual machines"},
}
