package keyed_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed95b73fdc/sluice/keyed"
)

var update = flag.Bool("update", false, "write testdata/routes.golden anew")

// The owners of these keys are those of every version, process and platform.
func TestOwnersAreThoseOfTheGoldenFile(t *testing.T) { // C96
	const file = "testdata/routes.golden"
	keys := append([]string{"", "\x00", "a", "ä", "1468509572224", "key with spaces", strings.Repeat("long ", 50)}, someKeys(40)...)
	members := []keyed.Member{{Name: "ams"}, {Name: "ber", Weight: 2}, {Name: "cph"}, {Name: "dub", Weight: 3}, {Name: "fra"}}
	even := keyed.Named("ams", "ber", "cph", "dub", "fra")
	fnv32 := keyed.WithHash(func(s string) uint64 {
		h := uint32(2166136261)
		for _, b := range []byte(s) {
			h = (h ^ uint32(b)) * 16777619
		}
		return uint64(h)
	})
	var b strings.Builder
	b.WriteString("# key: hash, then the three first owners by each router\n")
	for _, key := range keys {
		fmt.Fprintf(&b, "%.20q: %016x\n", key, keyed.HashString(key))
		for _, r := range []struct {
			name   string
			router keyed.Router
		}{
			{"modulo 50", keyed.NewModulo(50)},
			{"modulo 50, FNV-1a-32", keyed.NewModulo(50, fnv32)},
			{"jump 50", keyed.NewJump(50)},
			{"rendezvous", rendezvous(t, even)},
			{"rendezvous, weighted", rendezvous(t, members)},
			{"ring", ring(t, even)},
			{"ring, weighted", ring(t, members, keyed.VirtualNodes(40))},
		} {
			owners, err := r.router.Owners(key, 3)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "\t%s: %s\n", r.name, strings.Join(owners, " "))
		}
	}
	fmt.Fprintf(&b, "assigned: %s\n", strings.Join(ring(t, members).Assign(64, 1.25), " "))
	for _, v := range []int64{0, 1, -1, 1 << 40} {
		fmt.Fprintf(&b, "number %d: %016x\n", v, keyed.HashInt(v))
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, golden := strings.Split(b.String(), "\n"), strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n")
	if len(got) != len(golden) {
		t.Fatalf("%d lines, want %d", len(got), len(golden))
	}
	for i := range got {
		if got[i] != golden[i] {
			t.Errorf("line %d: got %q, want %q", i+1, got[i], golden[i])
		}
	}
}

// Values that the authors of the algorithms, or many others, have published.
func TestHashesAgreeWithOtherImplementations(t *testing.T) {
	for key, want := range map[string]uint64{ // xxHash, XXH64, seed 0
		"":    0xef46db3751d8e999,
		"a":   0xd24ec4f1a98c6e5b,
		"as":  0x1c330fb2d66be179,
		"asd": 0x631c37ce72a97393,
	} {
		if got := keyed.HashString(key); got != want {
			t.Errorf("%q: got %x, want %x", key, got, want)
		}
	}
	for _, c := range []struct {
		hash uint64
		n    int
		want int
	}{ // jump consistent hash
		{1, 1, 0}, {42, 57, 43}, {0xDEAD10CC, 1, 0}, {0xDEAD10CC, 666, 361}, {256, 1024, 520},
	} {
		if got := keyed.NewJump(c.n).BucketOfHash(c.hash); got != c.want {
			t.Errorf("jump of %d in %d: got %d, want %d", c.hash, c.n, got, c.want)
		}
	}
	if got := keyed.HashInt(0x64636261); got != keyed.HashString("abcd\x00\x00\x00\x00") {
		t.Errorf("a number's hash is not that of its bytes: %x", got)
	}
}
