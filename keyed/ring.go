package keyed

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed95b73fdc/sluice/stage"
)

const (
	// DefaultVirtualNodes is the number of points that a member of weight 1 has on
	// a Ring if VirtualNodes does not say otherwise.
	DefaultVirtualNodes = 256
	// MaxPoints is the largest number of points of a Ring.
	MaxPoints = 1 << 22
)

// Ring is consistent hashing: each member has points on a circle of 2⁶⁴ places,
// and a key belongs to the member whose point is the first at or after the key's
// hash, beyond the last one to that of the first. A member that comes takes over
// from all others, one that leaves is replaced by all others, and no key moves
// between two that stay.
//
// With v points each, shares differ by about one part in √v: of members of equal
// weight the largest share is about 1 + √(2·ln n ÷ v) of the mean, 1.14 for n = 10
// and v = 256. What moves when a member comes or goes is its share, that is what its
// weight says, give or take as much. A lookup takes about the same time for any number of members; the
// ring takes 20 to 24 bytes a point. Where points fall on the same place, which
// with 64 bits they hardly do, all of them stay, and the place belongs to the
// first of their members by name.
//
// David Karger, Eric Lehman, Tom Leighton, Rina Panigrahy, Matthew Levine, Daniel
// Lewin: Consistent Hashing and Random Trees, STOC 1997.
type Ring struct {
	opts    []RouteOption
	hash    KeyHash
	members []Member
	points  []ringPoint // by hash, then by the member's name
	// starts[i] is the first point whose hash has i or more in its top bits. As
	// there are about as many starts as points, and hashes are even, a lookup
	// has one or two points to look at.
	starts []uint32
	shift  uint
}

type ringPoint struct {
	hash   uint64
	member uint32
}

// VirtualNodes sets how many points a member of weight 1 has on a [Ring], at least
// 1; one of weight w has w times as many.
func VirtualNodes(v int) RouteOption {
	stage.CheckSize("keyed.VirtualNodes", "v", v, 1)
	checkMost("keyed.VirtualNodes", "v", v, MaxPoints)
	return func(c *routeConfig) { c.virtualNodes = v }
}

// NewRing returns a ring of members, in any order. The error is ErrNoMembers or an
// ErrBadMember, the latter too where the points would be more than MaxPoints.
func NewRing(members []Member, opts ...RouteOption) (*Ring, error) {
	c := routeConfigure("keyed.NewRing", opts)
	sorted, err := sortMembers(members)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, m := range sorted {
		if m.Weight > (MaxPoints-total)/c.virtualNodes {
			return nil, fmt.Errorf("%w: with %q, of weight %d, a ring of %d virtual nodes has more than %d points",
				ErrBadMember, m.Name, m.Weight, c.virtualNodes, MaxPoints)
		}
		total += m.Weight * c.virtualNodes
	}
	r := &Ring{opts: opts, hash: c.hash, members: sorted, points: make([]ringPoint, 0, total)}
	for i, m := range sorted {
		// The number stands first and has eight bytes, so that no two points of
		// different members, or numbers, are spelled alike.
		label := append(make([]byte, 8), m.Name...)
		for v := range m.Weight * c.virtualNodes {
			binary.LittleEndian.PutUint64(label, uint64(v))
			r.points = append(r.points, ringPoint{c.hash(string(label)), uint32(i)})
		}
	}
	slices.SortFunc(r.points, func(a, b ringPoint) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.member, b.member))
	})
	r.index()
	return r, nil
}

// index fills starts.
func (r *Ring) index() {
	n := bits.Len(uint(len(r.points) - 1))
	r.shift = uint(64 - n)
	r.starts = make([]uint32, 1<<n+1)
	next := 0
	for i, p := range r.points {
		for ; next <= int(p.hash>>r.shift); next++ {
			r.starts[next] = uint32(i)
		}
	}
	for ; next < len(r.starts); next++ {
		r.starts[next] = uint32(len(r.points))
	}
}

// find returns the number of the first point at or after hash.
func (r *Ring) find(hash uint64) int {
	top := hash >> r.shift
	i, end := int(r.starts[top]), int(r.starts[top+1])
	const few = 8
	if end-i > few { // a hash that is not even
		n, _ := slices.BinarySearchFunc(r.points[i:end], hash, func(p ringPoint, hash uint64) int { return cmp.Compare(p.hash, hash) })
		i += n
	}
	for i < end && r.points[i].hash < hash {
		i++
	}
	if i == len(r.points) {
		return 0
	}
	return i
}

// With returns a ring with m added, or in place of the member of its name.
func (r *Ring) With(m Member) (*Ring, error) { return NewRing(withMember(r.members, m), r.opts...) }

// Without returns a ring with the member of that name removed.
func (r *Ring) Without(name string) (*Ring, error) {
	rest, err := removeMember(r.members, name)
	if err != nil {
		return nil, err
	}
	return NewRing(rest, r.opts...)
}

// Owner returns the member that owns key. Never blocks.
func (r *Ring) Owner(key string) string { return r.OwnerOfHash(r.hash(key)) }

// OwnerOfHash is Owner for a key whose hash is known.
func (r *Ring) OwnerOfHash(hash uint64) string {
	return r.members[r.points[r.find(hash)].member].Name
}

// Owners returns the first n different members at or after the hash of key, in
// that order: when the owner leaves, the second one has its keys. See [Router].
func (r *Ring) Owners(key string, n int) ([]string, error) {
	if err := checkOwners(n, len(r.members)); err != nil || n == 0 {
		return nil, err
	}
	owners := make([]string, 0, n)
	r.walk(r.hash(key), func(m int) bool {
		owners = append(owners, r.members[m].Name)
		return len(owners) < n
	})
	return owners, nil
}

// walk visits each member once, in the order of their first points at or after
// hash, until visit returns false.
func (r *Ring) walk(hash uint64, visit func(member int) bool) {
	seen := make([]uint64, (len(r.members)+63)/64) // a bit for each
	left := len(r.members)
	for i := r.find(hash); left > 0; i++ {
		if i == len(r.points) {
			i = 0
		}
		m := r.points[i].member
		if seen[m/64]>>(m%64)&1 != 0 {
			continue
		}
		seen[m/64] |= 1 << (m % 64)
		if left--; !visit(int(m)) {
			return
		}
	}
}

// Members returns the members, by name, with their weights.
func (r *Ring) Members() []Member { return slices.Clone(r.members) }

// Points returns the number of points: the sum of the weights, times the number of
// virtual nodes.
func (r *Ring) Points() int { return len(r.points) }
