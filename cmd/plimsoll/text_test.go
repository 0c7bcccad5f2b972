package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFormatNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{formatDuration(0), "0"},
		{formatDuration(950), "950 ns"},
		{formatDuration(1500), "1.50 µs"},
		{formatDuration(999_400), "999 µs"},
		{formatDuration(999_800), "1.00 ms"},
		{formatDuration(12_345_678), "12.3 ms"},
		{formatDuration(999_900_000), "1.00 s"},
		{formatDuration(1234 * time.Millisecond), "1.23 s"},
		{formatDuration(15 * time.Minute), "15m0s"},
		{formatCount(1234567), "1,234,567"},
		{formatCount(-1234), "-1,234"},
		{formatCount(12), "12"},
		{formatRate(12345.6), "12,346"},
		{formatRate(99.95), "100"},
		{formatRate(1.5), "1.50"},
		{formatPercent(0), "0 %"},
		{formatPercent(1), "100 %"},
		{formatPercent(0.99999), "99.9+ %"},
		{formatPercent(0.000001), "<0.01 %"},
		{formatPercent(0.1234), "12.3 %"},
		{formatBytes(1168), "1.14 KiB"},
		{formatBytes(5 << 30), "5.00 GiB"},
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
