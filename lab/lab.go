// Package lab starts clusters of real servers on this machine, injects faults into them, and removes them completely.
//
// Each lab has a supervisor: a process that is the parent of all processes of the lab and answers on a unix socket in
// the lab's directory. [Up] starts a supervisor, [Open] finds it, and a [Handle] is its client. If the supervisor is
// killed, the kernel kills its children, and [Down] removes the other resources from the journal. The packages below
// make hosts, volumes, servers and topologies, and lab/action has the actions of faults. Load and judgements are in
// other packages.
//
// The supervisor has parts. Each part has its own state and a lock for it: the inventory (hosts and cluster), the
// faults in place, the roster (why members are down), the memory of hosts, and the storage (volumes and their
// filesystems). Two parts have no state: availability restarts members, and the injector injects faults and heals them.
// A part uses those before it in this order, never those after it.
package lab
