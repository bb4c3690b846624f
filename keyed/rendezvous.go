package keyed

import (
	"slices"
)

// Rendezvous gives a key to the member that scores highest for it, each scoring by
// a hash of the key with its name: highest random weight. Shares are as even as
// chance allows, in exact proportion to the weights; a change of members or of a
// weight moves nothing that it need not; the second owner of a key is the one that
// takes over when the first leaves. A lookup takes time for each member, so it is
// for some dozens of them; with more, [Ring] is cheaper and less even.
//
// David G. Thaler, Chinya V. Ravishankar: Using Name-Based Mappings to Increase
// Hit Rates, IEEE/ACM Transactions on Networking 6 (1), 1998. The weights are by
// the logarithmic method of Christian Schindelhauer, Gunnar Schomaker: Weighted
// Distributed Hash Tables, SPAA 2005, in whole numbers: the floating-point
// logarithms of two platforms need not agree in the last bit.
type Rendezvous struct {
	opts    []RouteOption
	hash    KeyHash
	members []Member
	hashes  []uint64 // of the members' names
	even    bool     // all weights are equal
	logs    *logTable
}

// NewRendezvous returns a router over members, in any order. The error is
// ErrNoMembers or an ErrBadMember.
func NewRendezvous(members []Member, opts ...RouteOption) (*Rendezvous, error) {
	c := routeConfigure("keyed.NewRendezvous", opts)
	sorted, err := sortMembers(members)
	if err != nil {
		return nil, err
	}
	r := &Rendezvous{opts: opts, hash: c.hash, members: sorted, even: true, logs: logs()}
	for _, m := range sorted {
		r.hashes = append(r.hashes, scramble(c.hash(m.Name)))
		r.even = r.even && m.Weight == sorted[0].Weight
	}
	return r, nil
}

// With returns a router with m added, or in place of the member of its name.
func (r *Rendezvous) With(m Member) (*Rendezvous, error) {
	return NewRendezvous(withMember(r.members, m), r.opts...)
}

// Without returns a router with the member of that name removed.
func (r *Rendezvous) Without(name string) (*Rendezvous, error) {
	rest, err := removeMember(r.members, name)
	if err != nil {
		return nil, err
	}
	return NewRendezvous(rest, r.opts...)
}

// Owner returns the member that owns key. Never blocks.
func (r *Rendezvous) Owner(key string) string { return r.OwnerOfHash(r.hash(key)) }

// OwnerOfHash is Owner for a key whose hash is known.
func (r *Rendezvous) OwnerOfHash(hash uint64) string {
	best, draw := 0, scramble(hash^r.hashes[0])
	if r.even {
		for i, h := range r.hashes[1:] {
			if d := scramble(hash ^ h); d > draw {
				best, draw = i+1, d
			}
		}
		return r.members[best].Name
	}
	lead := r.score(0, draw)
	for i, h := range r.hashes[1:] {
		d := scramble(hash ^ h)
		// Most are so far behind that the least their logarithm can be tells.
		if least := leastLog(d); least*lead.weight > lead.log*uint64(r.members[i+1].Weight) {
			continue
		}
		if s := r.score(i+1, d); s.beats(lead) {
			best, lead = i+1, s
		}
	}
	return r.members[best].Name
}

// score is what a member has to offer for a key. If its draw is u out of 1, then
// -log u is an exponentially distributed time, and -log u / weight one whose rate
// is the weight: the member with the least wins with a probability in proportion
// to its weight.
type rendezvousScore struct {
	log    uint64 // -log₂ u, in units of 2^-logBits
	weight uint64
	draw   uint64
}

func (r *Rendezvous) score(member int, draw uint64) rendezvousScore {
	return rendezvousScore{r.logs.of(draw), uint64(r.members[member].Weight), draw}
}

// beats is a strict order: of log ÷ weight, without the division, and for equal
// ones by the draw. log grows no smaller as draw falls, so equal weights are in the
// order of their draws, as the shorter loop has it. What is still equal has met a
// collision of hashes, and stays with the first by name.
func (s rendezvousScore) beats(t rendezvousScore) bool {
	if a, b := s.log*t.weight, t.log*s.weight; a != b {
		return a < b
	}
	return s.draw > t.draw
}

// Owners returns the n members that score highest for key, in that order; see
// [Router].
func (r *Rendezvous) Owners(key string, n int) ([]string, error) {
	if err := checkOwners(n, len(r.members)); err != nil || n == 0 {
		return nil, err
	}
	type ranked struct {
		name  string
		score rendezvousScore
	}
	hash := r.hash(key)
	all := make([]ranked, len(r.members))
	for i, h := range r.hashes {
		all[i] = ranked{r.members[i].Name, r.score(i, scramble(hash^h))}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { // stable: by name where scores are equal
		switch {
		case a.score.beats(b.score):
			return -1
		case b.score.beats(a.score):
			return 1
		}
		return 0
	})
	owners := make([]string, n)
	for i := range owners {
		owners[i] = all[i].name
	}
	return owners, nil
}

// Members returns the members, by name, with their weights.
func (r *Rendezvous) Members() []Member { return slices.Clone(r.members) }
