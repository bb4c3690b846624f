package keyed

import (
	"sync/atomic"
)

// Table is a Router whose members can be exchanged while others ask it. Every
// answer comes from one Router as a whole: an exchange is seen completely or not
// at all. Asking takes no lock and never blocks, exchanging neither.
type Table struct {
	current atomic.Pointer[routes]
}

// routes is what a Table publishes; it never changes.
type routes struct {
	router  Router
	version uint64
}

// NewTable returns a table that begins with r, as version 1.
func NewTable(r Router) *Table {
	t := &Table{}
	checkRouter("keyed.NewTable", r)
	t.current.Store(&routes{r, 1})
	return t
}

// Set makes r the router of the table and returns its version, which is one more
// than that of the one before. Of concurrent calls each gets a version of its own,
// and the highest is the one that stays.
func (t *Table) Set(r Router) (version uint64) {
	checkRouter("keyed.Table.Set", r)
	for {
		old := t.current.Load()
		if t.current.CompareAndSwap(old, &routes{r, old.version + 1}) {
			return old.version + 1
		}
	}
}

// Current returns the router at present, and its version. Whoever asks several
// questions that have to fit together asks that router.
func (t *Table) Current() (Router, uint64) {
	c := t.current.Load()
	return c.router, c.version
}

// Owner returns the owner of key at present.
func (t *Table) Owner(key string) string { return t.current.Load().router.Owner(key) }

// OwnerVersion returns the owner of key at present and the version that says so.
func (t *Table) OwnerVersion(key string) (owner string, version uint64) {
	c := t.current.Load()
	return c.router.Owner(key), c.version
}

// Owners returns r owners of key at present, all by one version; see [Router].
func (t *Table) Owners(key string, r int) ([]string, error) {
	return t.current.Load().router.Owners(key, r)
}

// Members returns the members at present.
func (t *Table) Members() []Member { return t.current.Load().router.Members() }

func checkRouter(fn string, r Router) {
	if r == nil {
		panic(fn + ": router is nil")
	}
}
