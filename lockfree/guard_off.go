//go:build !race && !sluicedebug

package lockfree

// guard notices when one side of a ring is used by two goroutines at once. Here it
// does nothing, and costs nothing.
type guard struct{}

func (*guard) enter(string) {}
func (*guard) leave()       {}

const guarded = ""
