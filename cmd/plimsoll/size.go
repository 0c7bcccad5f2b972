package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

type sizeFlags struct {
	need, memory, fsync, probe, price, format string
	match                                     []string
	whatIf, failures                          string
	backtest                                  bool
	nodes, copies                             int
	cores, batch                              float64
}

func newSizeCommand(env *environment) *cobra.Command {
	var f sizeFlags
	cmd := &cobra.Command{
		Use:   "size [RECORD…] --need 'ops=50000,p99<20ms,data=2TiB'",
		Short: "Calculate the nodes, memory and disk that a load needs",
		Long: `RECORD is a capacity, a run or a study; without it, the newest record below plimsoll-data. Of a capacity
(plimsoll capacity), the line with a member down is used if a node may fail. Of others, the highest offered rate
that met the objectives of the need is used, and of a closed loop the achieved rate, with a warning. With several
records, the answer is large enough for each workload.

The first line is the answer, "at most" if the measured rate is a lower bound. Three copies are the default.
Scaling is linear by assumption, or as measured by a study with a factor named nodes. Records of the embedded
store, and of a thousandth of the planned data, are refused.

--backtest leaves out each level of the factors of studies, predicts it from the others, and compares. It also
takes published documents: published:storage-io, published:policy-storage/figure-6. --what-if predicts the
throughput of a deployment that was not measured, from studies that varied each of its keys, or its load line from a
capacity whose limit was confirmed (plimsoll capacity --confirm).

--failures simulates years with failures of a deployment: how long writes fail, and how many operations are
late. It draws each failure from drills in which a primary failed; two drills of each kind of failure are
needed. It refuses if the outages of a drill are not like those of the others.

Exit codes: 0 answered, 1 other failure, 2 usage error or unreadable record, 4 need not achievable with the
measured capacity, 6 no answer: not measured, not predictable, or the records are invalid.`,
		Example: `  plimsoll size my-record --need 'ops=50000,p99<20ms,data=2TiB'
  plimsoll size my-study --need 'ops=50k,p99<20ms' --price nodes.yaml --cores 8
  plimsoll size hdd-a hdd-b --match ssd-a --match ssd-b --nodes 3
  plimsoll size --backtest my-study published:storage-io
  plimsoll size my-study --what-if 'cores=16,memory=64GiB,disk=nvme'
  plimsoll size my-drills/* --failures 'shards=333,ops=300k,kill=200,power-off=10'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.backtest || f.whatIf != "" || f.failures != "" {
				return f.predict(cmd, env, args)
			}
			in, err := f.input(env, args)
			if err != nil {
				return err
			}
			return printSize(env, in, f.format)
		},
	}
	f.add(cmd)
	briefHelp(cmd, `Calculate the nodes, memory and disk that a load needs, from measured capacity. The need is a list of:

  ops=50000      operations per second          copies=3     members with a copy of each document
  data=2TiB      size of the documents, once    failures=1   nodes that may fail at the same time
  p99<20ms       an objective, like --slo       free=20%     free space of each disk`)
	return cmd
}

func (f *sizeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.need, "need", "", "`load` to size for, for example 'ops=50000,p99<20ms,data=2TiB'")
	flags.StringArrayVar(&f.match, "match", nil, "`record` of another deployment, to calculate how many nodes match it (repeatable, one per workload)")
	flags.IntVar(&f.nodes, "nodes", 0, "number of nodes with data in the measured deployment (default: from the record)")
	flags.IntVar(&f.copies, "copies", 0, "number of nodes with a copy of each document (default: from the record)")
	flags.StringVar(&f.memory, "memory", "", "memory `size` of each measured node, for example 64GiB (default: the cache size reported by the server)")
	flags.Float64Var(&f.cores, "cores", 0, "CPU cores of each measured node")
	flags.StringVar(&f.fsync, "fsync", "", "`time` of one journal sync of the disk, for example 2.1ms")
	flags.StringVar(&f.probe, "probe", "", "`record` of plimsoll disk for that disk, instead of --fsync")
	flags.Float64Var(&f.batch, "batch", 0, "highest number of durable commits per sync (default: half of the workers)")
	flags.StringVar(&f.price, "price", "", "`file` with node types and prices; the answer is the cheapest sufficient type")
	flags.BoolVar(&f.backtest, "backtest", false, "leave out each level of the studies, predict it from the others, and compare")
	flags.StringVar(&f.whatIf, "what-if", "", "`deployment` whose throughput is predicted, for example 'cores=16,memory=64GiB,disk=nvme,members=5,w=majority'")
	flags.StringVar(&f.failures, "failures", "", "`failures` of a year whose cost is simulated from drills, for example 'shards=333,ops=300k,kill=200,power-off=10'")
	resultFlags(flags, &f.format, "text", "md", "json")
}

func (f *sizeFlags) input(env *environment, args []string) (in capacity.Input, err error) {
	if len(args) == 0 {
		newest, err := newestRecord()
		if err != nil {
			return in, err
		}
		args = []string{newest}
	}
	in = capacity.Input{Records: args, Match: f.match, Tool: tool(), Batch: f.batch,
		Deployment: capacity.Deployment{Nodes: f.nodes, Copies: f.copies, Cores: f.cores}}
	if f.need != "" {
		need, err := capacity.ParseNeed(f.need)
		if err != nil {
			return in, withExit(exitUsage, err)
		}
		in.Need = &need
	}
	if err := cmp.Or(parseFlag(&in.Deployment.Memory, "memory", f.memory, spec.ParseSize),
		parseFlag(&in.Sync, "fsync", f.fsync, spec.ParseDuration)); err != nil {
		return in, err
	}
	if f.memory != "" && in.Deployment.Memory < 64<<20 {
		return in, usageError("--memory: %s is too small for a server: did you forget the unit, as in 64GiB?", f.memory)
	}
	if f.probe != "" {
		if f.fsync != "" {
			return in, usageError("--fsync and --probe both give the time of a sync: remove one of them")
		}
		if in.Probe, err = record.OpenProbe(f.probe); err != nil {
			return in, withExit(exitUsage, err)
		}
	}
	if f.price == "" {
		return in, nil
	}
	prices, err := readSpec(env, f.price, "price list", "", spec.ReadPriceList)
	in.Prices = &prices
	return in, err
}

func printSize(env *environment, in capacity.Input, format string) error {
	result, err := capacity.Size(in)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := printResult(env.stdout, result, format); err != nil {
		return err
	}
	switch result.Verdict {
	case record.SizeImpossible:
		return withExit(exitObjective, errSilent)
	case record.SizeUnknown:
		return withExit(exitInvalid, errSilent)
	case record.SizeAnswered:
		return nil
	}
	return errors.New("unknown verdict " + string(result.Verdict))
}
