// Package lab starts clusters of real servers on this machine, breaks them when asked, and removes them without a
// trace.
//
// A lab is kept by a supervisor: a process of its own, the parent of everything in the lab, that answers on a unix
// socket in the lab's directory. [Up] starts one, [Open] finds it, and a [Handle] speaks with it. If the supervisor
// is killed the kernel ends what it started, and [Down] removes the rest from the journal. Hosts, volumes, servers
// and topologies are made by the rooms below, and what can be done to them stands in lab/action; load and judgement
// live elsewhere.
//
// The supervisor has parts, each with the state that only it changes, and a lock for it: the inventory (hosts and
// cluster), the faults in place, the roster (why members are down), the memory of hosts, and the storage (volumes and
// their filesystems). Availability starts members again, and the breaker does faults and heals them; both have no
// state of their own. Parts know those that come before them in this order, never those after.
package lab
