package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

const bankAccounts = 4

type bankState = [bankAccounts]int

// bankCall is a deposit (to), a transfer (from, to), or a look at all accounts.
type bankCall struct {
	kind   string
	from   int
	to     int
	amount int
}

type bankReply struct {
	refused bool
	never   bool // it was told that the call has never run
	all     bankState
}

var errRefused = errors.New("refused")

// bankModel says what a bank may answer: a transfer that is refused, and a call that
// never ran, change nothing.
var bankModel = porcupine.Model{
	Init: func() any { return bankState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(bankState), input.(bankCall), output.(bankReply)
		if out.never {
			return true, s
		}
		switch in.kind {
		case "deposit":
			s[in.to] += in.amount
			return true, s
		case "transfer":
			if in.from != in.to && s[in.from] < in.amount {
				return out.refused, state
			}
			s[in.from] -= in.amount
			s[in.to] += in.amount
			return !out.refused, s
		}
		return out.all == s, s
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

// The bank: deposits, transfers, reads and resizes at random, some with contexts that
// end in the middle. Every history is that of a bank with one teller, and no money is
// made or lost.
func TestTheBankIsLinearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const rounds, callers, calls = 60 / raceScale, 4, 12
	var resized, never, refused, late atomic.Int64
	for round := range rounds {
		bank := keyed.NewOwners[int, int](1+round%3, func() int { return 0 }, stage.Window(2+round%4))
		var mu sync.Mutex
		var history []porcupine.Operation
		var deposited atomic.Int64
		began := time.Now()
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(round*callers+c)))
				for range calls {
					in, reply := bankCall{from: r.IntN(bankAccounts), to: r.IntN(bankAccounts), amount: r.IntN(5)}, bankReply{}
					ctx, cancel := context.Background(), func() {}
					if r.IntN(3) == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(40))*time.Microsecond)
					}
					call := time.Since(began)
					var err error
					switch r.IntN(6) {
					case 0, 1:
						in.kind = "deposit"
						err = bank.Do(ctx, in.to, func(s *int) error { *s += in.amount; return nil })
					case 2, 3:
						in.kind = "transfer"
						err = bank.Atomically(ctx, []int{in.from, in.to}, func(s []*int) error {
							*s[0] -= in.amount
							*s[1] += in.amount
							if *s[0] < 0 {
								return errRefused
							}
							return nil
						})
					case 4:
						in.kind = "read"
						err = bank.Atomically(ctx, []int{3, 2, 1, 0}, func(s []*int) error {
							for i := range s {
								reply.all[3-i] = *s[i]
							}
							return nil
						})
					case 5:
						if err := bank.Resize(ctx, 1+r.IntN(4)); err == nil {
							resized.Add(1)
						}
						cancel()
						continue
					}
					var running *keyed.RunningError
					if errors.As(err, &running) {
						late.Add(1)
						err = running.Wait(context.Background())
					}
					switch {
					case err == errRefused:
						reply.refused = true
						refused.Add(1)
					case err == context.DeadlineExceeded:
						reply.never = true
						never.Add(1)
					case err != nil:
						t.Error(err)
					case in.kind == "deposit":
						deposited.Add(int64(in.amount))
					}
					cancel()
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: c, Input: in, Call: int64(call), Output: reply, Return: int64(time.Since(began))})
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		sum := 0
		bank.Atomically(context.Background(), []int{0, 1, 2, 3}, func(s []*int) error {
			for _, b := range s {
				sum += *b
			}
			return nil
		})
		if int64(sum) != deposited.Load() {
			t.Fatalf("round %d: the sum is %d, %d have been deposited", round, sum, deposited.Load())
		}
		if res := porcupine.CheckOperationsTimeout(bankModel, history, 10*time.Second); res == porcupine.Illegal {
			t.Fatalf("round %d: the history is not that of a bank", round)
		}
		if err := bank.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if resized.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d resizes, %d refused: nothing is shown", resized.Load(), refused.Load())
	}
	t.Logf("%d resizes, %d refused, %d never run, %d outran their context", resized.Load(), refused.Load(), never.Load(), late.Load())
}
