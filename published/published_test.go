package published

import "testing"

func TestReads(t *testing.T) {
	all, err := Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, c := range s.Claims {
			x, ok, err := s.Recompute(c)
			t.Log(c.To, x, c.Stated.Written, ok, err, c.Wrong)
		}
		for _, w := range s.Sweeps {
			for _, l := range w.Levels {
				if n, ok := w.Little(l.Name); ok {
					t.Log(w.ID, l.Name, n, l.Workers, w.Unstated(l.Name))
				}
			}
		}
	}
}
