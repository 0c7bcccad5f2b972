// Package lab starts clusters of real servers on this machine, breaks them when asked, and removes them without a trace.
//
// A lab is kept by a supervisor: a process of its own, the parent of everything in the lab, that answers on a unix
// socket in the lab's directory. [Up] starts one, [Open] finds it, and a [Handle] speaks with it. If the supervisor is
// killed the kernel ends what it started, and [Down] removes the rest from the journal. Hosts, volumes, servers and
// topologies are made by the rooms below; load and judgement live elsewhere.
package lab
