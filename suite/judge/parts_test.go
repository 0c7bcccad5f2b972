package judge

import "testing"

// One thread is told in words that are right for one.
func TestNoMoreHelp(t *testing.T) {
	for threads, want := range map[int]string{1: "a second thread does not help", 8: "more than 8 threads do not help"} {
		if got := NoMoreHelp(threads); got != want {
			t.Errorf("%d threads: got %q, want %q", threads, got, want)
		}
	}
}
