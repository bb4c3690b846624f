package keyed_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/seed95b73fdc/sluice/keyed"
)

// C105: the last bucket may go, or come, and nothing else moves.
func TestJumpMovesItsShareWhenTheLastBucketComesOrGoes(t *testing.T) {
	oneGoroutine(t)
	keys := someKeys(100_000)
	for _, n := range []int{1, 2, 9, 10, 99} {
		m := keyed.ExplainMove(keyed.NewJump(n), keyed.NewJump(n+1), keys)
		want := 1 / float64(n+1)
		if tolerance := 4 * math.Sqrt(want*(1-want)/float64(len(keys))); math.Abs(m.Share()-want) > tolerance {
			t.Errorf("%d buckets and one more: %.4f of the keys move, want %.4f ± %.4f", n, m.Share(), want, tolerance)
		}
		for _, f := range m.Flows {
			if f.To != strconv.Itoa(n) {
				t.Errorf("%d buckets and one more: keys move to %s", n, f.To)
			}
		}
		back := keyed.ExplainMove(keyed.NewJump(n+1), keyed.NewJump(n), keys)
		if back.Moved != m.Moved {
			t.Errorf("%d keys move back, not %d", back.Moved, m.Moved)
		}
	}
}

func TestModuloMovesNearlyAllKeysWhenABucketComes(t *testing.T) {
	oneGoroutine(t)
	const n = 10
	m := keyed.ExplainMove(keyed.NewModulo(n), keyed.NewModulo(n+1), someKeys(100_000))
	if want := float64(n) / (n + 1); math.Abs(m.Share()-want) > 0.01 {
		t.Errorf("%.4f of the keys move, want %.4f", m.Share(), want)
	}
}

func TestModuloAndJumpAreEven(t *testing.T) {
	oneGoroutine(t)
	const n = 50
	keys := someKeys(100_000)
	mean := float64(len(keys)) / n
	for name, r := range map[string]keyed.Router{"modulo": keyed.NewModulo(n), "jump": keyed.NewJump(n)} {
		for bucket, c := range counts(r, keys) {
			if math.Abs(float64(c)-mean) > 5*math.Sqrt(mean) {
				t.Errorf("%s: bucket %s has %d keys of a mean of %.0f", name, bucket, c, mean)
			}
		}
	}
}

func TestBucketsAreNamedByTheirNumbers(t *testing.T) {
	m, j := keyed.NewModulo(12), keyed.NewJump(12)
	for _, key := range someKeys(200) {
		if got, want := m.Owner(key), strconv.Itoa(m.Bucket(key)); got != want || m.Bucket(key) != m.BucketOfHash(keyed.HashString(key)) {
			t.Fatalf("modulo: %s has %s, want %s", key, got, want)
		}
		if got, want := j.Owner(key), strconv.Itoa(j.Bucket(key)); got != want {
			t.Fatalf("jump: %s has %s, want %s", key, got, want)
		}
	}
	if got := m.Members()[11]; got != (keyed.Member{Name: "11", Weight: 1}) {
		t.Errorf("got %v", got)
	}
}

// A hash that leads to one bucket only would leave Owners without an end.
func TestJumpOwnersOfOneBucketAfterAnotherEnd(t *testing.T) {
	const n = 300
	owners, err := keyed.NewJump(n).Owners("k", n)
	if err != nil || len(owners) != n {
		t.Errorf("%d owners, %v", len(owners), err)
	}
}
