package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

func TestFormatNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{figure.Duration(0), "0"},
		{figure.Duration(950), "950 ns"},
		{figure.Duration(1500), "1.50 µs"},
		{figure.Duration(999_400), "999 µs"},
		{figure.Duration(999_800), "1.00 ms"},
		{figure.Duration(12_345_678), "12.3 ms"},
		{figure.Duration(999_900_000), "1.00 s"},
		{figure.Duration(1234 * time.Millisecond), "1.23 s"},
		{figure.Duration(15 * time.Minute), "15m0s"},
		{figure.Count(1234567), "1,234,567"},
		{figure.Count(-1234), "-1,234"},
		{figure.Count(12), "12"},
		{figure.Rate(12345.6), "12,346"},
		{figure.Rate(99.95), "100"},
		{figure.Rate(1.5), "1.50"},
		{figure.Percent(0), "0 %"},
		{figure.Percent(1), "100 %"},
		{figure.Percent(0.99999), "99.9+ %"},
		{figure.Percent(0.000001), "<0.01 %"},
		{figure.Percent(0.1234), "12.3 %"},
		{figure.Bytes(1168), "1.14 KiB"},
		{figure.Bytes(5 << 30), "5.00 GiB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTableAligns(t *testing.T) {
	var tab table
	tab.row("operation", "count", "p99")
	tab.row("read", "1,000", "12.3 µs")
	tab.row("update", "50", "-")
	var b strings.Builder
	tab.write(&b, "  ")
	want := "  operation  count      p99\n" +
		"  read       1,000  12.3 µs\n" +
		"  update        50        -\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two three four", 9, "  ")
	if want := "one two\n  three\n  four"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
