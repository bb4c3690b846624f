package keyed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/seed95b73fdc/sluice/stage"
)

// Router tells which member owns a key. [Modulo], [Jump], [Rendezvous] and [Ring]
// are Routers that never change, so any number of goroutines may ask one without
// a lock; [Table] is one whose members can be exchanged.
//
// The answer depends on nothing but the key and the set of members: not on the
// process, the platform, or the order in which members are listed.
type Router interface {
	// Owner returns the name of the member that owns key. There always is one.
	// Never blocks.
	Owner(key string) string
	// Owners returns the names of r different members for key, such as the homes
	// of its replicas, the owner first: none for r = 0, and ErrTooFewMembers for
	// an r that is negative or larger than the number of members. Never blocks.
	Owners(key string, r int) ([]string, error)
	// Members returns the members, by name, or by number where they have numbers.
	Members() []Member
}

// Member is one of those who share the keys: a process, a disk, a worker.
type Member struct {
	Name string // not empty, and unlike that of any other member
	// Weight is its share of the keys in proportion to that of the others, up to
	// MaxWeight. 0 stands for 1.
	Weight int
}

// MaxWeight is the largest Weight of a Member.
const MaxWeight = 1 << 16

// Returned by routers and those who make them.
var (
	// ErrNoMembers is returned for an empty list of members: a Router always has an
	// owner for a key.
	ErrNoMembers = errors.New("keyed: no members")
	// ErrBadMember is returned for a member without a name, with the name of another,
	// with a weight that is out of bounds, or that is to be removed and is not there.
	ErrBadMember = errors.New("keyed: bad member")
	// ErrTooFewMembers is returned when more owners are asked for than there are members.
	ErrTooFewMembers = errors.New("keyed: too few members")
)

// Named returns members of weight 1.
func Named(names ...string) []Member {
	members := make([]Member, len(names))
	for i, name := range names {
		members[i] = Member{name, 1}
	}
	return members
}

// KeyHash is a hash of 64 bits for keys and members. It has to give the same value
// in every process that has to agree about owners. All 64 bits should depend on the
// key; a KeyHash of 32 bits, or with collisions, makes shares uneven and no more.
type KeyHash func(string) uint64

// HashString is the KeyHash that routers use if they are given no other: xxHash
// with 64 bits and seed 0, the same value on every platform.
func HashString(key string) uint64 { return xxhash.Sum64String(key) }

// HashInt is the hash of a key that is a number: HashString of its 8 bytes, the
// lowest first, without making a string of them. It is for the methods that take
// a hash, such as [Ring.OwnerOfHash].
func HashInt(key int64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(key))
	return xxhash.Sum64(b[:])
}

// RouteOption is an option of the constructors of routers.
type RouteOption func(*routeConfig)

type routeConfig struct {
	hash         KeyHash
	virtualNodes int
}

// WithHash replaces HashString, for instance to agree with another system.
func WithHash(hash KeyHash) RouteOption {
	stage.CheckFunc("keyed.WithHash", "hash", hash == nil)
	return func(c *routeConfig) { c.hash = hash }
}

func routeConfigure(fn string, opts []RouteOption) routeConfig {
	c := routeConfig{hash: HashString, virtualNodes: DefaultVirtualNodes}
	for i, o := range opts {
		if o == nil {
			panic(fmt.Sprintf("%s: option %d is nil", fn, i))
		}
		o(&c)
	}
	return c
}

// sortMembers returns a checked copy, by name, with weights of at least 1.
func sortMembers(members []Member) ([]Member, error) {
	if len(members) == 0 {
		return nil, ErrNoMembers
	}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for i := range sorted {
		m := &sorted[i]
		switch {
		case m.Name == "":
			return nil, fmt.Errorf("%w: its name is empty", ErrBadMember)
		case m.Weight < 0 || m.Weight > MaxWeight:
			return nil, fmt.Errorf("%w: %q has weight %d, want 0 to %d", ErrBadMember, m.Name, m.Weight, MaxWeight)
		case i > 0 && m.Name == sorted[i-1].Name:
			return nil, fmt.Errorf("%w: %q is listed twice", ErrBadMember, m.Name)
		}
		m.Weight = max(m.Weight, 1)
	}
	return sorted, nil
}

// withMember returns members with m added, or in place of the one of its name.
func withMember(members []Member, m Member) []Member {
	return append(withoutMember(members, m.Name), m)
}

func withoutMember(members []Member, name string) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Name == name })
}

// removeMember is withoutMember for a member that has to be there.
func removeMember(members []Member, name string) ([]Member, error) {
	rest := withoutMember(members, name)
	if len(rest) == len(members) {
		return nil, fmt.Errorf("%w: there is no %q", ErrBadMember, name)
	}
	return rest, nil
}

// checkOwners is what every Owners checks first.
func checkOwners(r, members int) error {
	if r < 0 || r > members {
		return fmt.Errorf("%w: %d owners asked for, %d members", ErrTooFewMembers, r, members)
	}
	return nil
}

// scramble is a bijection that makes any bit of x matter for any bit of the
// result: the finalizer of MurmurHash3 with the constants of Stafford's variant 13,
// as in SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, OOPSLA 2014).
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
