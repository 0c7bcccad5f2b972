package store

import (
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	if got := OneLine("a\n\tb  mongodb://x:secret@h/\xff"); got != "a b mongodb://x:***@h/?" {
		t.Errorf("%q", got)
	}
	if got := OneLine("a\x1b[31m\x07b\u202ec\r\nplimsoll: all is well"); got != "a�[31m�b�c plimsoll: all is well" {
		t.Errorf("%q", got)
	}
	if got := OneLine(strings.Repeat("é", 1000)); len(got) > maxLine+3 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-8:])
	}
}
