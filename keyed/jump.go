package keyed

import "slices"

// Jump gives a key to a numbered bucket by jump consistent hashing: as even as
// [Modulo] and without memory of its own, but from n to n+1 buckets only one key
// of n+1 moves, and only to the new one. A lookup takes about ln n steps.
//
// Buckets are numbers, 0 to n-1, and only the last may be taken away: whoever
// removes another one by moving those behind it up moves most keys of the rest.
// Members that come and go are for [Ring] and [Rendezvous].
//
// John Lamping, Eric Veach: A Fast, Minimal Memory, Consistent Hash Algorithm,
// arXiv:1406.2294, 2014.
type Jump struct {
	hash    KeyHash
	buckets []string
}

// NewJump returns a Jump of n buckets, 1 to MaxBuckets.
func NewJump(n int, opts ...RouteOption) *Jump {
	const fn = "keyed.NewJump"
	names := bucketNames(fn, n)
	return &Jump{routeConfigure(fn, opts).hash, names}
}

// Bucket returns the number of the bucket that owns key. Never blocks.
func (j *Jump) Bucket(key string) int { return j.BucketOfHash(j.hash(key)) }

// BucketOfHash is Bucket for a key whose hash is known: the paper's function, with
// its values.
func (j *Jump) BucketOfHash(hash uint64) int { return jump(hash, len(j.buckets)) }

// jump is the algorithm of the paper. A float64 has the 53 bits that it needs, and
// a product and a quotient are rounded alike everywhere; there is no sum of
// products that a platform could fuse.
func jump(hash uint64, buckets int) int {
	const multiplier = 2862933555777941757 // of a linear congruential generator
	bucket, next := int64(-1), int64(0)
	for next < int64(buckets) {
		bucket = next
		hash = hash*multiplier + 1
		next = int64(float64(bucket+1) * (float64(1<<31) / float64(hash>>33+1)))
	}
	return int(bucket)
}

// Owner returns the number of the bucket that owns key, in decimal.
func (j *Jump) Owner(key string) string { return j.buckets[j.Bucket(key)] }

// Owners returns r buckets: that of key, and then those that further hashes of the
// key lead to, each one once; see [Router]. The paper knows one owner only.
func (j *Jump) Owners(key string, r int) ([]string, error) {
	if err := checkOwners(r, len(j.buckets)); err != nil || r == 0 {
		return nil, err
	}
	const (
		golden = 0x9E3779B97F4A7C15 // 2⁶⁴ ÷ the golden ratio
		tries  = 8                  // per owner, until the rest is taken in order
	)
	taken := make([]int, 0, r)
	take := func(b int) {
		if len(taken) < r && !slices.Contains(taken, b) {
			taken = append(taken, b)
		}
	}
	hash := j.hash(key)
	take(jump(hash, len(j.buckets)))
	for i := 1; i < tries*r; i++ {
		take(jump(scramble(hash+uint64(i)*golden), len(j.buckets)))
	}
	for b := 0; len(taken) < r; b++ {
		take(b)
	}
	owners := make([]string, r)
	for i, b := range taken {
		owners[i] = j.buckets[b]
	}
	return owners, nil
}

// Members returns the buckets, by number.
func (j *Jump) Members() []Member { return Named(j.buckets...) }
