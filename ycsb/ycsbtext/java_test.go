package ycsbtext

import (
	"math"
	"testing"
)

// The expectations were printed by a Java 17 runtime, but for the two marked ones, where Java before 19
// prints more digits than are needed.
func TestFormatDouble(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{100, "100.0"},
		{62296, "62296.0"},
		{1e6, "1000000.0"},
		{9999999, "9999999.0"},
		{1e7, "1.0E7"},
		{1.2e7, "1.2E7"},
		{12345678.9, "1.23456789E7"},
		{0.001, "0.001"},
		{0.0009999, "9.999E-4"},
		{1e-4, "1.0E-4"},
		{5e-5, "5.0E-5"},
		{1.5e-7, "1.5E-7"},
		{-1e-5, "-1.0E-5"},
		{-1234.5, "-1234.5"},
		{1.0 / 3, "0.3333333333333333"},
		{203.33333333333334, "203.33333333333334"},
		{1000.0 * 5000000 / 173039, "28895.220152682345"},
		{float64(168) / 173039 * 100, "0.09708793971301267"},
		{123456789012345680, "1.2345678901234568E17"},
		{1e21, "1.0E21"},
		{1e22, "1.0E22"},
		{2e23, "2.0E23"}, // 1.9999999999999998E23 before Java 19
		{1e23, "1.0E23"}, // 9.999999999999999E22 is how Java 17 reads back this literal
		{9.007199254740992e15, "9.007199254740992E15"},
		{math.SmallestNonzeroFloat64, "4.9E-324"},
		{math.MaxFloat64, "1.7976931348623157E308"},
		{2.2250738585072014e-308, "2.2250738585072014E-308"},
		{math.NaN(), "NaN"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
	} {
		if got := formatDouble(c.v); got != c.want {
			t.Errorf("FormatDouble(%b) = %q, want %q", c.v, got, c.want)
		}
	}
}

func TestFormatDecimal(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{0.5, "0.5"},
		{0.57, "0.57"},
		{0.005, "0.01"},
		{0.125, "0.12"},
		{0.375, "0.38"},
		{0.135, "0.14"},
		{1.005, "1"},
		{2.675, "2.67"},
		{37634.74, "37634.74"},
		{548.395, "548.39"},
		{548.405, "548.4"},
		{1e7, "10000000"},
		{123456789.126, "123456789.13"},
		{99.995, "100"},
		{99.994999, "99.99"},
		{0.001, "0"},
		{-0.001, "-0"},
		{-3.5, "-3.5"},
		{1e20, "100000000000000000000"},
		{9.995, "9.99"},
		{math.NaN(), "\ufffd"},
		{math.Inf(1), "∞"},
		{math.Inf(-1), "-∞"},
	} {
		if got := formatDecimal(c.v); got != c.want {
			t.Errorf("FormatDecimal(%b) = %q, want %q", c.v, got, c.want)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add(1.5)
	f.Add(math.NaN())
	f.Add(1e300)
	f.Fuzz(func(t *testing.T, v float64) {
		if formatDouble(v) == "" || formatDecimal(v) == "" {
			t.Fatalf("nothing printed for %b", v)
		}
	})
}
