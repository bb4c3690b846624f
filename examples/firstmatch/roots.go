package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stdinName is the PATH that stands for standard input.
const stdinName = "-"

// A root is one of the PATHs.
type root struct {
	path  string // "" if none was given: the working directory
	canon string // absolute and without links; "" if it is not needed, or not known
}

// newRoots are the PATHs, in the order in which they are searched.
func newRoots(paths []string, sorted bool) []root {
	if len(paths) == 0 {
		return []root{{}}
	}
	roots := make([]root, len(paths))
	for i, p := range paths {
		roots[i].path = p
		if len(paths) > 1 && p != stdinName {
			roots[i].canon = canonical(p)
		}
	}
	if sorted {
		slices.SortStableFunc(roots, func(a, b root) int { return comparePaths(a.path, b.path) })
	}
	return roots
}

func canonical(path string) string {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return ""
	}
	return abs
}

// comparePaths compares name by name, as a walk goes: what is in a comes before
// a.txt, though '.' is less than '/'.
func comparePaths(a, b string) int {
	for {
		nameA, restA, moreA := cutPath(a)
		nameB, restB, moreB := cutPath(b)
		if c := strings.Compare(nameA, nameB); c != 0 {
			return c
		}
		if !moreA || !moreB {
			return cmp.Compare(len(restA), len(restB))
		}
		a, b = restA, restB
	}
}

func cutPath(p string) (name, rest string, more bool) {
	for i := range len(p) {
		if os.IsPathSeparator(p[i]) {
			return p[:i], p[i+1:], true
		}
	}
	return p, "", false
}

// past are the PATHs that have been searched, where there are several: each
// file is searched once, where it comes first.
type past struct {
	hidden  bool
	folders map[string]bool
	names   map[string]map[string]bool // by the folder that they are in
}

// has reports whether the root has been searched, as a PATH or in the course of
// another one.
func (p *past) has(r root, k kind) bool {
	if r.canon == "" {
		return false
	}
	dir, name := filepath.Dir(r.canon), filepath.Base(r.canon)
	if p.in(dir)[name] {
		return true
	}
	if k != kindFile && k != kindFolder {
		return false // a walk passes it over
	}
	for p.hidden || !isHidden(name) {
		if p.folders[dir] {
			return true
		}
		if filepath.Dir(dir) == dir {
			return false
		}
		dir, name = filepath.Dir(dir), filepath.Base(dir)
	}
	return false
}

func (p *past) add(r root, k kind) {
	if r.canon == "" {
		return
	}
	if k == kindFolder {
		if p.folders == nil {
			p.folders = make(map[string]bool)
		}
		p.folders[r.canon] = true
	}
	dir := filepath.Dir(r.canon)
	if p.names == nil {
		p.names = make(map[string]map[string]bool)
	}
	if p.names[dir] == nil {
		p.names[dir] = make(map[string]bool)
	}
	p.names[dir][filepath.Base(r.canon)] = true
}

// in are the names in a folder that have been searched as PATHs.
func (p *past) in(canon string) map[string]bool { return p.names[canon] }

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }
