package keyed_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/keyed"
)

// bank owns some accounts. It keeps with each account which changes it has seen,
// and so bears to be told of one twice.
type bank struct {
	accounts *keyed.Sharded[string, account]
}

type account struct {
	balance int
	seen    map[string]int // what each change was
}

var errPoor = errors.New("not enough")

// change adds amount to the account, once for each id.
func (b bank) change(id, name string, amount int) (err error) {
	b.accounts.Update(name, func(a account, _ bool) account {
		if _, again := a.seen[id]; again {
			return a
		}
		if a.balance+amount < 0 {
			err = fmt.Errorf("%w: %w", errPoor, keyed.ErrNotDone)
			return a
		}
		if a.seen == nil {
			a.seen = make(map[string]int)
		}
		a.seen[id] = amount
		a.balance += amount
		return a
	})
	return err
}

// undo takes the change back, if there was one.
func (b bank) undo(id, name string) error {
	b.accounts.Update(name, func(a account, _ bool) account {
		a.balance -= a.seen[id]
		if a.seen != nil {
			a.seen[id] = 0 // should it come late, it finds itself done
		}
		return a
	})
	return nil
}

// A transfer between two banks that have no transaction in common.
func ExampleSaga() {
	type transfer struct {
		From, To string
		Amount   int
	}
	north := bank{keyed.NewSharded[string, account](4)}
	south := bank{keyed.NewSharded[string, account](4)}
	north.accounts.Store("ann", account{balance: 100})

	transfers := keyed.NewSaga(&keyed.MemoryJournal{},
		keyed.Step[transfer]{
			Name: "withdraw",
			Do: func(_ context.Context, c keyed.SagaCall, t transfer) error {
				return north.change(c.ID(), t.From, -t.Amount)
			},
			Undo: func(_ context.Context, c keyed.SagaCall, t transfer) error {
				return north.undo(c.ID(), t.From)
			},
		},
		keyed.Step[transfer]{
			Name: "deposit",
			Do: func(_ context.Context, c keyed.SagaCall, t transfer) error {
				if t.To != "bob" {
					return fmt.Errorf("no account %q: %w", t.To, keyed.ErrNotDone)
				}
				return south.change(c.ID(), t.To, t.Amount)
			},
			Undo: func(_ context.Context, c keyed.SagaCall, t transfer) error {
				return south.undo(c.ID(), t.To)
			},
		})

	ctx := context.Background()
	fmt.Println(transfers.Run(ctx, "order 1", transfer{"ann", "bob", 70}))
	fmt.Println(transfers.Run(ctx, "order 1", transfer{"ann", "bob", 70})) // asked again: done already
	fmt.Println(transfers.Run(ctx, "order 2", transfer{"ann", "bob", 70}))
	fmt.Println(transfers.Run(ctx, "order 3", transfer{"ann", "eve", 10}))
	ann, _ := north.accounts.Load("ann")
	bob, _ := south.accounts.Load("bob")
	fmt.Println(ann.balance, bob.balance)
	// Output:
	// <nil>
	// <nil>
	// keyed: saga undone: "order 2" failed at "withdraw": not enough: keyed: step not done
	// keyed: saga undone: "order 3" failed at "deposit": no account "eve": keyed: step not done
	// 30 70
}
