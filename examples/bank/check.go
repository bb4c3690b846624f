package main

import (
	"context"
	"database/sql"
	"fmt"
)

// books is what the check has found.
type books struct {
	deposits, transfers, refused int
	deposited                    money // by operations that were acknowledged
	sum                          money // of all balances
	entries                      int
	wrong                        []string // each a finding
}

// wants is what the balances have to add up to.
func (b *books) wants(p plan) money { return money(p.accounts)*opening + b.deposited }

func (b *books) finding(format string, args ...any) {
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// readBooks holds the database against what clients have been told:
//
//   - The balances add up to what the accounts had at first and the deposits that were
//     acknowledged.
//   - Each operation that was acknowledged is there once, with the entries that it has
//     by the plan, and no other one is.
//   - Each page is whole: its entries are numbered from 1 on, each balance is the one
//     before and the amount, none is negative, and the last is that of the account.
//   - On each page the operations of one client are in the order in which it brought
//     them, which is that of their numbers.
func readBooks(ctx context.Context, s *store, p plan, t *told) (*books, error) {
	b := new(books)
	for _, number := range t.twice {
		b.finding("operation %d was acknowledged twice", number)
	}
	outcomes, err := b.readOperations(ctx, s, p, t)
	if err != nil {
		return nil, err
	}
	for number, w := range t.state {
		if w == nothing {
			continue
		}
		o := p.operation(number)
		switch {
		case w == wasRefused:
			b.refused++
		case o.kind == transfer:
			b.transfers++
		default:
			b.deposits++
			b.deposited += o.amount
		}
		if outcomes[number] != w {
			b.finding("operation %d was acknowledged and is not in the database", number)
		}
	}
	pages, err := b.readEntries(ctx, s, p, outcomes)
	if err != nil {
		return nil, err
	}
	if err := b.readAccounts(ctx, s, p, pages); err != nil {
		return nil, err
	}
	if want := b.wants(p); b.sum != want {
		// The first thing to be said.
		b.wrong = append([]string{fmt.Sprintf("the balances add up to %v, not to %v", b.sum, want)}, b.wrong...)
	}
	return b, nil
}

// readOperations returns what the database says of each operation.
func (b *books) readOperations(ctx context.Context, s *store, p plan, t *told) ([]word, error) {
	outcomes := make([]word, p.operations)
	err := s.applied(ctx, func(number int, o outcome) {
		switch {
		case number < 0 || number >= p.operations:
			b.finding("operation %d is not of the plan", number)
		case t.state[number] == nothing:
			b.finding("operation %d is in the database, and nobody was told", number)
			fallthrough
		default:
			outcomes[number] = wordOf(o)
		}
	})
	return outcomes, err
}

// readEntries checks the pages, and returns the last line of each.
func (b *books) readEntries(ctx context.Context, s *store, p plan, outcomes []word) ([]account, error) {
	pages := make([]account, p.accounts)
	for i := range pages {
		pages[i] = account{id: i, balance: opening}
	}
	count := make([]int8, p.operations)
	var latest map[int]int // the last operation of each client on the page
	page := -1
	err := s.query(ctx, "SELECT account, seq, operation, amount, balance FROM entries ORDER BY account, seq", func(rows *sql.Rows) error {
		var id, seq, number int
		var amount, balance money
		if err := rows.Scan(&id, &seq, &number, &amount, &balance); err != nil {
			return err
		}
		b.entries++
		if id < 0 || id >= p.accounts || number < 0 || number >= p.operations {
			b.finding("an entry of operation %d on account %d is not of the plan", number, id)
			return nil
		}
		if id != page {
			page, latest = id, map[int]int{}
		}
		next, _ := pages[id].booked(amount)
		if next.seq != seq || next.balance != balance || balance < 0 {
			b.finding("account %d: entry %d, %v and so %v, follows entry %d with %v", id, seq, amount, balance, pages[id].seq, pages[id].balance)
		}
		pages[id] = account{id, balance, seq}
		client := number % p.clients
		if last, ok := latest[client]; ok && last >= number {
			b.finding("account %d: operation %d of client %d stands behind its operation %d", id, number, client, last)
		}
		latest[client] = number
		count[number]++
		o := p.operation(number)
		if !(id == o.to && amount == o.amount) && !(o.kind == transfer && id == o.from && amount == -o.amount) {
			b.finding("account %d: %v is not the amount of operation %d", id, amount, number)
		}
		return nil
	})
	for number, n := range count {
		want := int8(0)
		if outcomes[number] == wasDone {
			if want = 1; p.operation(number).kind == transfer {
				want = 2
			}
		}
		if n != want {
			b.finding("operation %d has %d entries, want %d", number, n, want)
		}
	}
	return pages, err
}

// readAccounts checks the balances against the last lines of the pages.
func (b *books) readAccounts(ctx context.Context, s *store, p plan, pages []account) error {
	n := 0
	err := s.query(ctx, "SELECT id, balance, seq FROM accounts", func(rows *sql.Rows) error {
		var a account
		if err := rows.Scan(&a.id, &a.balance, &a.seq); err != nil {
			return err
		}
		n++
		b.sum += a.balance
		if a.id < 0 || a.id >= p.accounts {
			b.finding("account %d is not of the plan", a.id)
		} else if a != pages[a.id] {
			b.finding("account %d has %v after %d entries, its page %v after %d", a.id, a.balance, a.seq, pages[a.id].balance, pages[a.id].seq)
		}
		return nil
	})
	if n != p.accounts {
		b.finding("%d accounts, want %d", n, p.accounts)
	}
	return err
}
