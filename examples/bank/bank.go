package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/keyed"
)

// maxCommit is how many operations share a transaction of the database at most.
const maxCommit = 256

// An account is the state that an owner has, as it is in the database too: the last
// entry of its page.
type account struct {
	id      int
	balance money
	seq     int // entries so far
}

// booked is the account after an entry of that amount.
func (a account) booked(amount money) (account, entry) {
	a.balance += amount
	a.seq++
	return a, entry{a, amount}
}

// An entry is a line on the page of an account: what it has come to, and by how much.
type entry struct {
	account
	amount money
}

// An outcome is how an operation has ended.
type outcome int

const (
	done    outcome = iota
	refused         // the account has too little; nothing has changed
)

// A record is an operation that has been decided, to be written.
type record struct {
	number  int
	outcome outcome
	entries []entry
}

// A bank carries out operations. Each is written, by a transaction that it shares with
// others, before its account has the new state, and acknowledged after that. So memory is
// never ahead of the database, and an operation that fails has not been.
//
// Who waits for whom: an owner waits for the commit of its one operation, holding its
// accounts; the commit waits for the database alone. Clients wait for owners.
//
// After a commit that failed there is no other one: what a client has brought behind that
// operation must not be carried out before it.
type bank struct {
	owners  *keyed.Owners[int, account]
	commits *batch.Coalescer[record, struct{}]
	store   *store
	ack     func(number int, o outcome) // called by owners, for each operation once
	fail    func(error)                 // called when a commit has failed
	broken  atomic.Pointer[error]       // of the first commit that has
	lose    int                         // the operation that is acknowledged and not carried out, or none
	flushes atomic.Int64
	balance []atomic.Int64 // of each account, for the table
}

func newBank(cfg config, s *store, ack func(number int, o outcome), fail func(error)) *bank {
	b := &bank{store: s, ack: ack, fail: fail, lose: cfg.lose, balance: make([]atomic.Int64, cfg.accounts)}
	b.owners = keyed.NewOwners[int, account](cfg.owners, s.load)
	b.commits = batch.NewCoalescer(func(ctx context.Context, records []record) ([]struct{}, error) {
		b.flushes.Add(1)
		return make([]struct{}, len(records)), s.write(ctx, records)
	}, maxCommit, batch.Name("commit"))
	return b
}

// carryOut hands an operation to the owners of its accounts, and returns when it has been
// carried out, or, if it comes by mail, as soon as it has its place in the queue.
func (b *bank) carryOut(ctx context.Context, o operation) error {
	switch o.kind {
	case deposit:
		return b.owners.Do(ctx, o.to, func(a *account) error { return b.deposit(a, o) })
	case mail:
		return b.owners.Post(ctx, o.to, func(a *account) error { return b.deposit(a, o) })
	}
	return b.owners.Atomically(ctx, []int{o.from, o.to}, func(states []*account) error {
		return b.transfer(states[0], states[1], o)
	})
}

func (b *bank) deposit(a *account, o operation) error {
	next, in := a.booked(o.amount)
	if o.number == b.lose {
		b.ack(o.number, done)
		return nil
	}
	if err := b.write(record{o.number, done, []entry{in}}); err != nil {
		return err
	}
	*a = next
	return nil
}

// transfer has copies of the accounts, which count if it returns nil.
func (b *bank) transfer(from, to *account, o operation) error {
	switch {
	case o.number == b.lose:
		b.ack(o.number, done)
		return nil
	case from.balance < o.amount:
		return b.write(record{o.number, refused, nil})
	}
	var out, in entry
	*from, out = from.booked(-o.amount)
	*to, in = to.booked(o.amount)
	return b.write(record{o.number, done, []entry{out, in}})
}

// write returns when the record is in the database, and acknowledged. What has begun is not
// given up, so that there is no context.
func (b *bank) write(r record) error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	if _, err := b.commits.Do(context.Background(), r); err != nil {
		b.broken.CompareAndSwap(nil, &err)
		b.fail(err)
		return err
	}
	for _, e := range r.entries {
		b.balance[e.id].Store(int64(e.balance))
	}
	b.ack(r.number, r.outcome)
	return nil
}

// close closes the books, when the owners are.
func (b *bank) close() error {
	return errors.Join(b.commits.Close(context.Background()), b.store.close())
}
