package keyed

import (
	"strconv"

	"github.com/seed95b73fdc/sluice/stage"
)

// MaxBuckets is the largest number of buckets of a [Modulo] or a [Jump].
const MaxBuckets = 1 << 20

// Modulo gives a key to the bucket of its hash modulo the number of buckets. It
// is the most even and the cheapest one, and right where that number never
// changes, as with lanes or files: from n to n+1 buckets n of n+1 keys move. Its members are the
// numbers 0 to n-1; as a [Router] it names them in decimal.
type Modulo struct {
	hash    KeyHash
	buckets []string
}

// NewModulo returns a Modulo of n buckets, 1 to MaxBuckets.
func NewModulo(n int, opts ...RouteOption) *Modulo {
	const fn = "keyed.NewModulo"
	names := bucketNames(fn, n)
	return &Modulo{routeConfigure(fn, opts).hash, names}
}

// bucketNames returns the numbers below n in decimal.
func bucketNames(fn string, n int) []string {
	stage.CheckSize(fn, "n", n, 1)
	checkMost(fn, "n", n, MaxBuckets)
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// Bucket returns the number of the bucket that owns key. Never blocks.
func (m *Modulo) Bucket(key string) int { return m.BucketOfHash(m.hash(key)) }

// BucketOfHash is Bucket for a key whose hash is known. The arithmetic is unsigned,
// so there is a bucket for every hash.
func (m *Modulo) BucketOfHash(hash uint64) int { return int(hash % uint64(len(m.buckets))) }

// Owner returns the number of the bucket that owns key, in decimal.
func (m *Modulo) Owner(key string) string { return m.buckets[m.Bucket(key)] }

// Owners returns the bucket of key and the r-1 that follow it, after the last the
// first; see [Router].
func (m *Modulo) Owners(key string, r int) ([]string, error) {
	if err := checkOwners(r, len(m.buckets)); err != nil || r == 0 {
		return nil, err
	}
	owners := make([]string, r)
	for i, b := 0, m.Bucket(key); i < r; i++ {
		owners[i] = m.buckets[(b+i)%len(m.buckets)]
	}
	return owners, nil
}

// Members returns the buckets, by number.
func (m *Modulo) Members() []Member { return Named(m.buckets...) }
