package keyed_test

import (
	"context"
	"fmt"

	"github.com/seed95b73fdc/sluice/keyed"
)

// bank is the owner of some accounts. It keeps with each account which changes it
// has seen, and so bears to be told of one twice.
type bank struct {
	accounts *keyed.Owners[string, account]
}

type account struct {
	balance int
	seen    map[string]int // what each change was
}

func newBank() bank {
	return bank{keyed.NewOwners[string, account](2, func(string) account {
		return account{seen: make(map[string]int)}
	})}
}

// change adds amount to the account, once for each id.
func (b bank) change(ctx context.Context, id, name string, amount int) error {
	return b.accounts.Do(ctx, name, func(a *account) error {
		if _, again := a.seen[id]; again {
			return nil
		}
		if a.balance+amount < 0 {
			return fmt.Errorf("not enough: %w", keyed.ErrNotDone)
		}
		a.seen[id] = amount
		a.balance += amount
		return nil
	})
}

// undo takes the change back, if there was one.
func (b bank) undo(ctx context.Context, id, name string) error {
	return b.accounts.Do(ctx, name, func(a *account) error {
		a.balance -= a.seen[id]
		a.seen[id] = 0 // should the change come late, it finds itself done
		return nil
	})
}

func (b bank) balance(ctx context.Context, name string) (balance int) {
	b.accounts.Do(ctx, name, func(a *account) error { balance = a.balance; return nil })
	return balance
}

// A transfer between two banks that have no transaction in common.
func ExampleSaga() {
	type transfer struct {
		From, To string
		Amount   int
	}
	ctx := context.Background()
	north, south := newBank(), newBank()
	defer north.accounts.Close(ctx)
	defer south.accounts.Close(ctx)
	north.change(ctx, "opening", "ann", 100)

	transfers := keyed.NewSaga(&keyed.MemoryJournal{},
		keyed.Step[transfer]{
			Name: "withdraw",
			Do: func(ctx context.Context, c keyed.SagaCall, t transfer) error {
				return north.change(ctx, c.ID(), t.From, -t.Amount)
			},
			Undo: func(ctx context.Context, c keyed.SagaCall, t transfer) error {
				return north.undo(ctx, c.ID(), t.From)
			},
		},
		keyed.Step[transfer]{
			Name: "deposit",
			Do: func(ctx context.Context, c keyed.SagaCall, t transfer) error {
				if t.To != "bob" {
					return fmt.Errorf("no account %q: %w", t.To, keyed.ErrNotDone)
				}
				return south.change(ctx, c.ID(), t.To, t.Amount)
			},
			Undo: func(ctx context.Context, c keyed.SagaCall, t transfer) error {
				return south.undo(ctx, c.ID(), t.To)
			},
		})

	fmt.Println(transfers.Run(ctx, "order 1", transfer{"ann", "bob", 70}))
	fmt.Println(transfers.Run(ctx, "order 1", transfer{"ann", "bob", 70})) // asked again: done already
	fmt.Println(transfers.Run(ctx, "order 2", transfer{"ann", "bob", 70}))
	fmt.Println(transfers.Run(ctx, "order 3", transfer{"ann", "eve", 10}))
	fmt.Println(north.balance(ctx, "ann"), south.balance(ctx, "bob"))
	// Output:
	// <nil>
	// <nil>
	// keyed: saga undone: "order 2" failed at "withdraw": not enough: keyed: step not done
	// keyed: saga undone: "order 3" failed at "deposit": no account "eve": keyed: step not done
	// 30 70
}
