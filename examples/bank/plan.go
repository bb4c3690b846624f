package main

import (
	"fmt"
	"math/rand/v2"
)

// A kind says how an operation comes to the owners.
type kind int

const (
	deposit  kind = iota // at the counter: Owners.Do, the client waits
	mail                 // a deposit by mail: Owners.Post, the client goes on
	transfer             // Owners.Atomically
)

// An operation is what a client wants. Its number is its identity: whoever carries it
// out again finds that it has been.
type operation struct {
	number   int
	kind     kind
	from, to int // accounts; from of a transfer only
	amount   money
}

// A plan says what there is to be done. The operations follow from it and are the same
// in each process and on each machine. Operation i is of client i mod clients.
type plan struct {
	accounts   int
	operations int
	clients    int
	hot        float64 // the share of operations that account 0 has a part in, beyond its own
	seed       uint64
}

// What the amounts are.
const (
	opening     money = 1_000_00 // what each account has at first
	maxDeposit  money = 50_00
	maxTransfer money = 400_00 // much, so that some are refused
)

// String identifies the plan, as flags.
func (p plan) String() string {
	return fmt.Sprintf("-accounts %d -operations %d -clients %d -hot %v -seed %d", p.accounts, p.operations, p.clients, p.hot, p.seed)
}

// operation returns the one of that number, which is less than p.operations.
func (p plan) operation(number int) operation {
	r := rand.New(rand.NewPCG(p.seed, uint64(number)))
	o := operation{number: number, to: r.IntN(p.accounts)}
	hot := r.Float64() < p.hot
	if hot {
		o.to = 0
	}
	switch d := r.IntN(10); {
	case d < 4:
		o.kind, o.amount = deposit, 1+money(r.Int64N(int64(maxDeposit)))
	case d < 7:
		o.kind, o.amount = mail, 1+money(r.Int64N(int64(maxDeposit)))
	default:
		o.kind, o.amount = transfer, 1+money(r.Int64N(int64(maxTransfer)))
		if o.from = r.IntN(p.accounts - 1); o.from >= o.to {
			o.from++ // another one than to
		}
		if r.IntN(2) == 0 {
			o.from, o.to = o.to, o.from
		}
	}
	return o
}

// money is an amount, in cents.
type money int64

// String writes 1234567 as 12,345.67.
func (m money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return fmt.Sprintf("%s%s.%02d", sign, thousands(int64(m/100)), m%100)
}

// thousands writes 12345 as 12,345.
func thousands[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
