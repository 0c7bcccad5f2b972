package workload

import (
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/javahash"
)

// The layout of a YCSB document follows the iteration order of java.util.HashMap, because YCSB hands
// the fields to the binding in one. This file reproduces that order.
//
// Not reproduced: buckets that Java turns into trees. That takes eight or more names in one bucket of a
// table of at least 64, which names of the form prefix + number do not come to in practice; the order
// inside such a bucket would be the order of insertion here.

// javaMapOrder returns the indexes of names in the order in which a HashMap with the given initial
// capacity (16 if it was made without one) iterates after they were put in one after the other.
// The names must be different.
func javaMapOrder(names []string, capacity int) []int {
	const (
		treeifyThreshold = 8
		minTreeCapacity  = 64
	)
	table := tableSizeFor(capacity)
	buckets := make([][]int, table)
	spread := make([]uint32, len(names))
	for i, name := range names {
		spread[i] = javahash.Spread(name)
		b := spread[i] & uint32(table-1)
		buckets[b] = append(buckets[b], i)
		// A long bucket in a small table makes the table grow instead of the bucket becoming a tree.
		if len(buckets[b]) > treeifyThreshold && table < minTreeCapacity {
			buckets, table = doubled(buckets, spread), 2*table
		}
		if i+1 > table*3/4 {
			buckets, table = doubled(buckets, spread), 2*table
		}
	}
	order := make([]int, 0, len(names))
	for _, b := range buckets {
		order = append(order, b...)
	}
	return order
}

// doubled distributes the buckets over a table of twice the size, keeping the order inside them.
func doubled(buckets [][]int, spread []uint32) [][]int {
	next := make([][]int, 2*len(buckets))
	for _, bucket := range buckets {
		for _, i := range bucket {
			b := spread[i] & uint32(len(next)-1)
			next[b] = append(next[b], i)
		}
	}
	return next
}

// tableSizeFor returns the smallest power of two that is at least capacity.
func tableSizeFor(capacity int) int {
	n := 1
	for n < capacity {
		n *= 2
	}
	return n
}

// javaSetOrder is [javaMapOrder] for new HashSet<String>(names), which makes its table large enough at
// the start: max(n/0.75 + 1, 16).
func javaSetOrder(names []string) []int {
	return javaMapOrder(names, max(int(float32(len(names))/.75)+1, 16))
}

// fieldNames returns prefix0, prefix1, … prefix(n-1).
func fieldNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}
