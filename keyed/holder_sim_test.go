package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

// protection is how the store of the simulation is protected against owners who
// have lost their lease.
type protection int

const (
	fenced     protection = iota // the epoch raises the fence before the first read
	readsFirst                   // writes are fenced, but the read before them is not
	unfenced
)

// simulated is a bubble with some members who compete for some partitions, and all
// that can go wrong between them and the leases: requests that are slow on their
// way there or back, or whose answer is lost; a clock of the store that steps;
// members that are stopped for longer than a lease lasts, and write on when they
// wake; members that leave and join.
type simulated struct {
	t       *testing.T
	seed    uint64
	protect protection
	leases  *keyed.MemoryLeases
	step    time.Duration // of the store's clock; guarded by mu
	fence   keyed.Fence

	mu    sync.Mutex
	parts map[string]*simPart
	saw   sightings
}

// simPart is a counter. Each owner reads it when its term begins, and from then on
// writes what it knows, plus one.
type simPart struct {
	value, accepted int
	epochs          []uint64 // of the writes that were accepted
	owner           map[uint64]string
	working         int // terms whose work runs
}

// sightings show that a simulation was not vacuous.
type sightings struct {
	terms, fenced, lost, together, handovers int
}

const (
	simMembers    = 4
	simPartitions = 3
	simLength     = 30 * time.Minute
)

func (s *simulated) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.step)
}

// slowly does a request that may take its time, or get lost.
func slowly[T any](rng *rand.Rand, mu *sync.Mutex, ctx context.Context, request func() (T, error)) (T, error) {
	draw := func() (before, after time.Duration, lose bool) {
		mu.Lock()
		defer mu.Unlock()
		switch rng.IntN(8) {
		case 0:
			before = time.Duration(rng.Int64N(int64(ttl)))
		case 1:
			after = time.Duration(rng.Int64N(int64(ttl)))
		case 2:
			lose = true
		}
		return before, after, lose
	}
	before, after, lose := draw()
	pause := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	var none T
	if !pause(before) {
		return none, ctx.Err()
	}
	v, err := request()
	if !pause(after) {
		return none, ctx.Err()
	}
	if lose {
		return none, errors.New("answer lost")
	}
	return v, err
}

// simStore is the lease store as one member sees it.
type simStore struct {
	*simulated
	rng *rand.Rand
	mu  *sync.Mutex
}

func (s simStore) Acquire(ctx context.Context, partition, owner string, ttl time.Duration) (keyed.Lease, error) {
	return slowly(s.rng, s.mu, ctx, func() (keyed.Lease, error) {
		return s.leases.Acquire(context.WithoutCancel(ctx), partition, owner, ttl)
	})
}

func (s simStore) Renew(ctx context.Context, l keyed.Lease, ttl time.Duration) (keyed.Lease, error) {
	return slowly(s.rng, s.mu, ctx, func() (keyed.Lease, error) {
		return s.leases.Renew(context.WithoutCancel(ctx), l, ttl)
	})
}

func (s simStore) Release(ctx context.Context, l keyed.Lease) error {
	_, err := slowly(s.rng, s.mu, ctx, func() (keyed.Lease, error) {
		return l, s.leases.Release(context.WithoutCancel(ctx), l)
	})
	return err
}

// guarded runs f under the fence, if there is one for this.
func (s *simulated) guarded(partition string, epoch uint64, fence bool, f func(p *simPart)) error {
	locked := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		f(s.parts[partition])
		return nil
	}
	if !fence {
		return locked()
	}
	return s.fence.Do(context.Background(), partition, epoch, locked)
}

// work is that of one term.
func (s *simulated) work(rng *rand.Rand, member string) func(context.Context, *keyed.Term) error {
	return func(ctx context.Context, term *keyed.Term) error {
		partition, epoch := term.Lease().Partition, term.Epoch()
		s.mu.Lock()
		p := s.parts[partition]
		s.saw.terms++
		if p.working++; p.working > 1 {
			s.saw.together++
		}
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			p.working--
			s.mu.Unlock()
		}()
		var known int
		if err := s.guarded(partition, epoch, s.protect == fenced, func(p *simPart) { known = p.value }); err != nil {
			s.mu.Lock()
			s.saw.fenced++
			s.mu.Unlock()
			return err
		}
		for {
			if rng.IntN(8) == 0 {
				time.Sleep(ttl + time.Duration(rng.Int64N(int64(2*ttl)))) // stopped, unawares
			} else {
				select {
				case <-time.After(time.Duration(rng.Int64N(int64(ttl / 2)))):
				case <-term.Draining():
					s.mu.Lock()
					s.saw.handovers++
					s.mu.Unlock()
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			err := s.guarded(partition, epoch, s.protect != unfenced, func(p *simPart) {
				known++
				p.value = known
				p.accepted++
				p.epochs = append(p.epochs, epoch)
				if o, ok := p.owner[epoch]; ok && o != member {
					s.t.Errorf("seed %d: epoch %d of %s has two owners, %s and %s", s.seed, epoch, partition, o, member)
				}
				p.owner[epoch] = member
			})
			if err != nil {
				s.mu.Lock()
				s.saw.fenced++
				s.mu.Unlock()
				return err
			}
		}
	}
}

// live is a member that comes and goes.
func (s *simulated) live(ctx context.Context, m int) {
	rng := rand.New(rand.NewPCG(s.seed, uint64(m)))
	for life := 0; ctx.Err() == nil; life++ {
		name := fmt.Sprintf("member-%d-%d", m, life)
		h := keyed.NewHolder(simStore{s, rand.New(rand.NewPCG(rng.Uint64(), 0)), new(sync.Mutex)}, name, ttl)
		var wg sync.WaitGroup
		alive, die := context.WithCancel(ctx)
		for p := range simPartitions {
			own := rand.New(rand.NewPCG(rng.Uint64(), 1))
			wg.Go(func() {
				for alive.Err() == nil {
					err := h.Hold(alive, fmt.Sprint("p", p), s.work(own, name))
					if errors.Is(err, keyed.ErrLeaseLost) {
						s.mu.Lock()
						s.saw.lost++
						s.mu.Unlock()
					}
					if errors.Is(err, keyed.ErrHolderClosed) {
						return
					}
					time.Sleep(time.Second)
				}
			})
		}
		time.Sleep(time.Duration(rng.Int64N(int64(4 * time.Minute))))
		if rng.IntN(2) == 0 {
			patience, cancel := context.WithTimeout(ctx, ttl)
			h.Close(patience) // in good order, or at least asked to
			cancel()
		}
		die()
		wg.Wait()
	}
}

// simulate runs one simulation and returns how many writes were lost: accepted, and
// not in the counter.
func simulate(t *testing.T, seed uint64, protect protection) (lost int, saw sightings) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulated{t: t, seed: seed, protect: protect, parts: make(map[string]*simPart)}
		s.leases = keyed.NewMemoryLeases(keyed.LeaseClock(s.now))
		for p := range simPartitions {
			s.parts[fmt.Sprint("p", p)] = &simPart{owner: make(map[uint64]string)}
		}
		ctx, cancel := context.WithTimeout(t.Context(), simLength)
		defer cancel()
		var wg sync.WaitGroup
		for m := range simMembers {
			wg.Go(func() { s.live(ctx, m) })
		}
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 99))
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rng.Int64N(int64(3 * ttl))))
				s.mu.Lock()
				s.step += time.Duration(rng.Int64N(int64(2*ttl))) - ttl
				s.mu.Unlock()
			}
		})
		wg.Wait()
		for name, p := range s.parts {
			lost += p.accepted - p.value
			for i := 1; i < len(p.epochs) && protect != unfenced; i++ {
				if p.epochs[i] < p.epochs[i-1] {
					t.Errorf("seed %d: %s took epoch %d after %d", seed, name, p.epochs[i], p.epochs[i-1])
				}
			}
			if p.accepted < 10 {
				t.Errorf("seed %d: %s has only %d writes", seed, name, p.accepted)
			}
		}
		saw = s.saw
	})
	return lost, saw
}

func TestFencedStoreLosesNoUpdateWhateverBecomesOfItsOwners(t *testing.T) { // C112, C118
	runs := uint64(100)
	if os.Getenv("SLUICE_LONG") == "" {
		if underRace {
			t.Skip("simulates hours in each run, which the race detector makes minutes; SLUICE_LONG=1 does it, and the other tests of holders run under it")
		}
		runs = 3
		t.Logf("%d simulations of %v each; SLUICE_LONG=1 has 100", runs, simLength)
	}
	first := uint64(time.Now().UnixNano())
	for name, protect := range map[string]protection{"fenced": fenced, "reads before it raises the fence": readsFirst, "without a fence": unfenced} {
		t.Run(name, func(t *testing.T) {
			lost, saw := 0, sightings{}
			for seed := first; seed < first+runs; seed++ {
				l, s := simulate(t, seed, protect)
				lost += l
				saw.terms += s.terms
				saw.fenced += s.fenced
				saw.lost += s.lost
				saw.together += s.together
				saw.handovers += s.handovers
			}
			if saw.lost == 0 || saw.together == 0 || saw.handovers == 0 || protect != unfenced && saw.fenced == 0 {
				t.Errorf("seeds from %d: vacuous: %+v", first, saw)
			}
			// What the fence is for is seen by taking it away.
			if (lost > 0) != (protect != fenced) {
				t.Errorf("seeds from %d: %d updates lost; %+v", first, lost, saw)
			}
			t.Logf("seeds from %d: %d updates lost; %+v", first, lost, saw)
		})
	}
}
