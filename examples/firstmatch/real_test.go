package main

import (
	"cmp"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// treeEnv names the tree to search instead of Go's own source, and longEnv asks for
// all of it.
const treeEnv, longEnv = "FIRSTMATCH_TREE", "SLUICE_LONG"

// A book is a file of a tree that has been read.
type book struct {
	path  string
	data  []byte
	mtime time.Time
}

// realTree is the tree that the test searches, or "" and why there is none.
func realTree() (root, why string) {
	if root = os.Getenv(treeEnv); root != "" {
		return root, ""
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", "go env GOROOT: " + err.Error()
	}
	root = filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(root); err != nil {
		return "", err.Error()
	}
	return root, ""
}

// books reads the files in and below a folder that are not hidden, in path order.
func books(t *testing.T, folder string) (all []book, size int) {
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, book{path, data, st.ModTime()})
		size += len(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, size
}

// section chooses folders of a tree at random, none within another one, until their
// files have so many bytes. What is larger than a fifth of that is taken apart.
func section(t *testing.T, r *rand.Rand, root string, bytes int) (chosen []string, files map[string][]book) {
	files = map[string][]book{}
	left := []string{root}
	for total := 0; total < bytes && len(left) > 0; {
		k := r.IntN(len(left))
		folder := left[k]
		left = slices.Delete(left, k, k+1)
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var inner []string
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				inner = append(inner, filepath.Join(folder, e.Name()))
			}
		}
		if folder == root || len(inner) > 4 {
			left = append(left, inner...)
			continue
		}
		all, size := books(t, folder)
		if size > bytes/5 && len(inner) > 0 {
			left = append(left, inner...)
			continue
		}
		chosen = append(chosen, folder)
		files[folder] = all
		total += size
	}
	return chosen, files
}

// inOrder are the files of the folders, as the program searches them with -order.
func inOrder(order string, folders []string, files map[string][]book) (all []book) {
	folders = slices.Clone(folders)
	if order != "given" {
		slices.SortFunc(folders, func(a, b string) int {
			return slices.Compare(strings.Split(a, string(filepath.Separator)), strings.Split(b, string(filepath.Separator)))
		})
	}
	for _, f := range folders {
		all = append(all, files[f]...)
	}
	switch order {
	case "name":
		slices.SortStableFunc(all, func(a, b book) int { return cmp.Compare(filepath.Base(a.path), filepath.Base(b.path)) })
	case "size":
		slices.SortStableFunc(all, func(a, b book) int { return cmp.Compare(len(a.data), len(b.data)) })
	case "mtime":
		slices.SortStableFunc(all, func(a, b book) int { return a.mtime.Compare(b.mtime) })
	}
	return all
}

// Which files of a real tree have a pattern first does not depend on how many are read
// at once: for a hundred patterns out of them, fixed strings and regular expressions,
// in every order, the program says what a search of one file after the other does.
func TestAnswerIsThatOfASequentialSearchInARealTree(t *testing.T) {
	root, why := realTree()
	if root == "" {
		t.Skipf("no tree to search: %s; %s=DIR names one", why, treeEnv)
	}
	bytes, patterns := 4<<20, 100
	if programtest.RaceDetector {
		bytes, patterns = 1<<20, 25
	}
	r := randomSeed(t)
	folders, files := []string{root}, map[string][]book{}
	if os.Getenv(longEnv) != "" {
		files[root], _ = books(t, root)
	} else {
		t.Logf("%d patterns in some %d bytes of %s; %s=1: in all of it", patterns, bytes, root, longEnv)
		folders, files = section(t, r, root, bytes)
	}
	var paths []string
	for _, b := range inOrder("given", folders, files) {
		paths = append(paths, b.path)
	}
	orders := []string{"path", "given", "name", "size", "mtime"}
	found, exprs, firsts := 0, 0, map[string]bool{}
	for i := range patterns {
		n, order := randomPattern(r, paths), orders[i%len(orders)]
		count := []int{1, 1, 1, 2, 7, 100}[r.IntN(6)]
		want := n.books(inOrder(order, folders, files), count)
		for _, par := range []int{1, 2, 3 + r.IntN(14)} {
			args := append(n.flags(), "-order", order, "-n", strconv.Itoa(par), "-count", strconv.Itoa(count), "--", n.text)
			got := callWith(environment{sys: []system{theSystem, plainSystem{}}[r.IntN(2)]}, append(args, folders...)...)
			code := exitFound
			if want == "" {
				code = exitNotFound
			}
			if got.code != code || got.stdout != want || got.stderr != "" {
				t.Fatalf("%q: exit code %d\ngot  %.2000s\nwant %.2000s\nstderr %s", args, got.code, got.stdout, want, got.stderr)
			}
		}
		if n.expr {
			exprs++
		}
		if want != "" {
			found++
			path, _, _ := strings.Cut(want, ":")
			firsts[path] = true
		}
	}
	if found < patterns/4 || found == patterns || exprs == 0 || len(firsts) < patterns/10 {
		t.Errorf("%d patterns of %d found, first in %d files, %d expressions: that proves little", found, patterns, len(firsts), exprs)
	}
}
