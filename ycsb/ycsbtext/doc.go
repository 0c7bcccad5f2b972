// Package ycsbtext writes YCSB's output: the final summary in its three exporter formats and the status line. Its input
// are the counts and histograms of package measure. Scripts for YCSB's output keep working.
//
// Formats, names, order of lines, rounding and the values of empty series are those of YCSB 0.17 and 0.18 with
// HdrHistogram 2.1.4. Package ycsb prints the intended differences. This package measures nothing and reads no clock.
package ycsbtext
