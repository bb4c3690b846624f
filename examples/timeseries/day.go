package main

import (
	"fmt"
	"math"
)

// A day is what is kept of one file: what each account turned over.
type day struct {
	date     date
	rows     int               // good ones
	volume   cents             // of all rows, their signs left out
	accounts map[string]*cents // the share of each
	bad      badRows
}

// badRows are those that a day is without.
type badRows struct {
	count int
	first string // what is wrong with the first one, and where
}

func (b *badRows) add(line int, why string, args ...any) {
	if b.count++; b.count == 1 {
		b.first = fmt.Sprintf("line %d: %s", line, fmt.Sprintf(why, args...))
	}
}

// cents are an amount of money.
type cents int64

// maxCents bounds a single amount.
const maxCents = cents(1e14)

// add counts a row, and reports whether the day's volume can still be told.
func (d *day) add(account []byte, amount cents) bool {
	if amount < 0 {
		amount = -amount
	}
	if d.volume > math.MaxInt64-amount {
		return false
	}
	d.rows++
	d.volume += amount
	if sum := d.accounts[string(account)]; sum != nil { // allocates nothing
		*sum += amount
	} else {
		d.accounts[string(account)] = &amount
	}
	return true
}
