package main

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// A run goes on from a database that another machine has written.
func TestOperationsOfASeedAreTheSameEverywhere(t *testing.T) {
	p := plan{accounts: 100, operations: 1000, clients: 64, hot: 0.25, seed: 1}
	sum := fnv.New64a()
	kinds, hot := map[kind]int{}, 0
	for i := range p.operations {
		o := p.operation(i)
		if o != p.operation(i) || o.number != i || o.amount < 1 || o.to < 0 || o.to >= p.accounts {
			t.Fatalf("operation %d: %+v", i, o)
		}
		if o.kind == transfer && (o.from == o.to || o.from < 0 || o.from >= p.accounts) {
			t.Fatalf("operation %d: %+v", i, o)
		}
		kinds[o.kind]++
		if o.to == 0 || o.kind == transfer && o.from == 0 {
			hot++
		}
		fmt.Fprintf(sum, "%+v;", [5]int{o.number, int(o.kind), o.from, o.to, int(o.amount)})
	}
	const want = 0x466194bd8cfa94d8
	if sum.Sum64() != want {
		t.Errorf("the sum of the operations is %#x, want %#x", sum.Sum64(), uint64(want))
	}
	if kinds[deposit] < 300 || kinds[mail] < 200 || kinds[transfer] < 200 || hot < 200 || hot > 350 {
		t.Errorf("kinds %v, %d of the hot account", kinds, hot)
	}
	two := plan{accounts: 2, operations: 100, clients: 1, hot: 1, seed: 3}
	for i := range two.operations {
		if o := two.operation(i); o.kind == transfer && o.from == o.to {
			t.Errorf("%+v", o)
		}
	}
}

func TestMoneyIsWrittenWithCents(t *testing.T) {
	for m, want := range map[money]string{0: "0.00", 7: "0.07", 100: "1.00", 12345: "123.45", 123456789: "1,234,567.89", -5: "-0.05", -123456: "-1,234.56"} {
		if m.String() != want {
			t.Errorf("%d is %v, want %s", int64(m), m, want)
		}
	}
}
