package keyed_test

import (
	"fmt"

	"github.com/seed95b73fdc/sluice/keyed"
)

func ExampleRing() {
	ring, err := keyed.NewRing(keyed.Named("ams", "ber", "cph"))
	if err != nil {
		panic(err)
	}
	fmt.Println(ring.Owner("user-42"))
	fmt.Println(ring.Owners("user-42", 2)) // where its two replicas are
	less, _ := ring.Without(ring.Owner("user-42"))
	fmt.Println(less.Owner("user-42")) // the second one takes over
	// Output:
	// cph
	// [cph ber] <nil>
	// ber
}

func ExampleRendezvous() {
	// ber has twice the memory.
	r, err := keyed.NewRendezvous([]keyed.Member{{Name: "ams"}, {Name: "ber", Weight: 2}})
	if err != nil {
		panic(err)
	}
	n := make(map[string]int)
	for i := range 30_000 {
		n[r.Owner(fmt.Sprint("user-", i))]++
	}
	fmt.Println(n["ams"]/1000, n["ber"]/1000)
	// Output: 10 19
}

func ExampleJump() {
	files := keyed.NewJump(16)
	fmt.Println(files.Bucket("user-42"))
	fmt.Println(files.BucketOfHash(keyed.HashInt(42)))
	// Output:
	// 4
	// 12
}

func ExampleModulo() {
	lanes := keyed.NewModulo(64)
	fmt.Println(lanes.Bucket("user-42"), lanes.Owner("user-42"))
	// Output: 1 1
}

func ExampleTable() {
	first, _ := keyed.NewRing(keyed.Named("ams", "ber"))
	table := keyed.NewTable(first) // to be shared by all who ask
	second, _ := first.With(keyed.Member{Name: "cph"})
	fmt.Println("version", table.Set(second))
	fmt.Println(table.OwnerVersion("user-41"))
	// Output:
	// version 2
	// cph 2
}

func ExampleExplainMove() {
	before, _ := keyed.NewRing(keyed.Named("ams", "ber", "cph"))
	after, _ := before.With(keyed.Member{Name: "dub"})
	fmt.Print(keyed.ExplainMove(before, after, someKeys(10_000)))
	// Output:
	// 2350 of 10000 keys move: 23.5 %, where 25.0 % must
	// ams -> dub: 953 keys, 9.5 %
	// ber -> dub: 785 keys, 7.8 %
	// cph -> dub: 612 keys, 6.1 %
}

func ExampleBounded() {
	ring, _ := keyed.NewRing(keyed.Named("ams", "ber"))
	jobs := keyed.NewBounded(ring, 1.25)
	for range 4 {
		fmt.Print(jobs.Acquire("the hot key"), " ")
	}
	// Output: ams ams ber ams
}

func ExampleRing_Assign() {
	ring, _ := keyed.NewRing(keyed.Named("ams", "ber", "cph"))
	fmt.Println(ring.Assign(9, 1.01)) // nobody more than 4
	// Output: [ber ams ams ams ams cph cph ber cph]
}
