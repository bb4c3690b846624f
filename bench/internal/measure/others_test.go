package measure

import "testing"

func TestCPUTimesAreReadAsProcDescribesThem(t *testing.T) {
	const (
		all  = "cpu  1000 200 300 9999 8888 40 50 60 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
		self = "4242 (a (odd) name) R 1 1 1 0 -1 4194304 100 0 0 0 150 50 7 7 20 0 9 0 1 1 1"
	)
	busy, ours, err := parseCPU(all, self)
	if err != nil || busy != 16.5 || ours != 2 {
		t.Errorf("got %v s busy, %v s ours, %v; want 16.5, 2", busy, ours, err)
	}
}

func TestCPUTimesOfAnotherFormAreAnError(t *testing.T) {
	for _, c := range [][2]string{{"", ""}, {"cpu 1 2", "1 (x) R"}, {"cpu 1 2 3 4 5 6 7 8", "1 (x) R 1 2"}, {"cpu a b c d e f g h", ""}} {
		if _, _, err := parseCPU(c[0], c[1]); err == nil {
			t.Errorf("%q: no error", c)
		}
	}
}
