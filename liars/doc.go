// Command liars is the campaign of known liars: it gives lies to every verdict of Plimsoll, many times each, with as
// many honest inputs, and counts the lies that the verdict finds and the honest inputs that it accuses. docs/trust.md
// has the stored results.
//
// A [family] belongs to one verdict and is a file of its own, listed in [families]. A [row] is one lie or one honest
// input. Its function try makes one trial from a seed, through the code that judges for users, and returns an [answer]:
//
//	func exampleFamily() family {
//		return family{name: "example", verdict: "`plimsoll example`: the disk is honest", rows: []row{
//			{name: "drops-a-flush", lie: "the disk drops one flush in 100", goal: everyOne,
//				small: 20, full: 200, try: dropsAFlush},
//			{name: "slow-disk", honest: "a slow disk", goal: none,
//				small: 20, full: 1000, try: slowDisk},
//		}, notFound: []string{"a disk that lies for longer than the probe runs"}}
//	}
//
// The simulation of a lie shares no code with the verdict. A lie without a goal is not claimed: its row has the goal
// unclaimed and says in notFound what that means for users.
//
//	go run ./liars                                   everything
//	go run ./liars -small                            the version of `make ci`
//	go run ./liars -family disk -row slow-disk -seed 7 -n 1
//	go run ./liars -family disk -update              stores the result and writes both pages
package main
