package ssh

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The end of an output is kept, whatever its length and its pieces.
func TestOutputIsBounded(t *testing.T) {
	for _, size := range []int{0, 1, 100, mostOutput - 1, mostOutput, mostOutput + 1, 5*mostOutput + 7} {
		for _, piece := range []int{1000, mostOutput, 7 * mostOutput} {
			var o output
			var all bytes.Buffer
			for i := 0; all.Len() < size; i++ {
				text := strings.Repeat(fmt.Sprintf("line %d of the host\n", i), 1+piece/20)
				all.WriteString(text)
				if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
			}
			want := all.String()[max(0, all.Len()-mostOutput):]
			if o.String() != want || cap(o.text) > 20*mostOutput {
				t.Errorf("%d bytes in pieces of %d: %d are kept with a capacity of %d", size, piece, len(o.text), cap(o.text))
			}
		}
	}
	var s session // of which [session.failure] shows the last line
	fmt.Fprint(&s.output, strings.Repeat("noise\n", 1<<20), "Permission denied\n")
	if got := last(strings.TrimSpace(s.output.String())); got != "Permission denied" {
		t.Errorf("the last line is %q", got)
	}
}
