package main

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// A candidate is a file that may have the match.
type candidate struct {
	seq  int64   // its place, from 0
	dir  *folder // that it is in; nil for a PATH
	name string  // in dir, or the PATH
	err  error   // instead of the file: what kept the walk from going on here
}

func (c *candidate) path() string {
	switch {
	case c.dir != nil:
		return c.dir.join(c.name)
	case c.isStdin():
		return "(standard input)"
	}
	return c.name
}

// isStdin tells standard input from a file that is called so too.
func (c *candidate) isStdin() bool { return c.dir == nil && c.name == stdinName }

// counts are what a run has done so far.
type counts struct {
	files, bytes            atomic.Int64 // searched
	folders                 atomic.Int64 // read
	hidden, links, specials atomic.Int64 // passed over
	large, output           atomic.Int64
	errors                  atomic.Int64 // skipped
	matches                 atomic.Int64
}

// A walker describes the files in and below the roots, in path order, as a
// stream. Its reader does its work when it is asked for candidates, in the
// goroutine of whoever asks: so it is never ahead of the search by more than
// what it was asked for, and holds only the lists of the folders that it is in.
type walker struct {
	roots   []root
	hidden  bool
	folders *folders
	counts  *counts
	wanted  func(seq int64) bool // whether a candidate can still make a difference
}

func (w *walker) stream() stage.Stream[candidate] {
	return stage.New(func(s *stage.Scope) stage.Reader[candidate] {
		return &walk{walker: w, scope: s, past: past{hidden: w.hidden}}
	})
}

// A walk is a run of a walker.
type walk struct {
	*walker
	scope *stage.Scope
	past  past
	next  int // of the roots
	stack []level
	seq   int64
	shut  bool
}

// A level is a folder that the walk is in.
type level struct {
	folder  *folder
	entries []entry // that are left
}

func (w *walk) Next(dst []stage.Try[candidate]) int {
	k := 0
	for k < len(dst) && !w.shut {
		if w.scope.Stopped() || !w.wanted(w.seq) {
			w.shut = true
			break
		}
		c, ok := w.step(k > 0)
		if !ok {
			break
		}
		if c.name == "" && c.err == nil {
			continue
		}
		c.seq = w.seq
		w.seq++
		dst[k] = stage.Try[candidate]{Value: c}
		k++
	}
	return k
}

// step goes one name further. It returns a candidate, or one without a name if
// there is none here; or false at the end, and before it reads a folder if
// something is already there to be handed on.
func (w *walk) step(some bool) (c candidate, ok bool) {
	if len(w.stack) == 0 {
		if w.next == len(w.roots) {
			w.shut = true
			return c, false
		}
		if some {
			return c, false
		}
		w.next++
		return w.begin(w.roots[w.next-1]), true
	}
	top := &w.stack[len(w.stack)-1]
	if len(top.entries) == 0 {
		w.folders.release(top.folder)
		w.stack = w.stack[:len(w.stack)-1]
		return c, true
	}
	e := top.entries[0]
	if some && e.kind == kindFolder {
		return c, false
	}
	top.entries = top.entries[1:]
	switch {
	case top.folder.past[e.name]: // it was searched as a PATH
	case !w.hidden && isHidden(e.name):
		w.counts.hidden.Add(1)
	case e.kind == kindFolder:
		return w.enter(top.folder, e.name, ""), true
	case e.kind == kindFile:
		top.folder.users.Add(1)
		return candidate{dir: top.folder, name: e.name}, true
	case e.kind == kindLink:
		w.counts.links.Add(1)
	case e.kind == kindSpecial:
		w.counts.specials.Add(1)
	}
	return c, true
}

// begin goes to a root.
func (w *walk) begin(r root) candidate {
	if r.path == stdinName {
		return candidate{name: r.path}
	}
	k := kindFolder
	if r.path != "" {
		st, err := os.Stat(r.path)
		if err != nil {
			return candidate{name: r.path, err: err}
		}
		k = kindOf(st.Mode())
	}
	if w.past.has(r, k) {
		return candidate{}
	}
	w.past.add(r, k)
	if k != kindFolder {
		return candidate{name: r.path}
	}
	return w.enter(nil, r.path, r.canon)
}

// enter opens a folder and reads what is in it.
func (w *walk) enter(parent *folder, name, canon string) candidate {
	f, err := w.folders.open(parent, name)
	if err != nil {
		return candidate{dir: parent, name: name, err: err}
	}
	entries, err := w.folders.sys.list(f)
	if err != nil {
		w.folders.release(f)
		return candidate{dir: parent, name: name, err: err}
	}
	w.counts.folders.Add(1)
	if len(w.roots) > 1 {
		if f.canon = canon; parent != nil {
			f.canon = filepath.Join(parent.canon, name)
		}
		f.past = w.past.in(f.canon)
	}
	w.stack = append(w.stack, level{f, entries})
	return candidate{}
}

// Close ends the walk. What candidates hold open is closed by the search.
func (w *walk) Close() {
	w.shut = true
	for _, l := range w.stack {
		w.folders.release(l.folder)
	}
	w.stack = nil
}
