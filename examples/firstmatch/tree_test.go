package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// randomTree makes files of random words: most of them small, some larger than
// the buffer, some with long lines, NULs, returns.
func randomTree(t *testing.T, r *rand.Rand) {
	words := []string{"alpha", "beta", "Gamma", "delta", "ε", "zeta", "eta", "{", "}", "==", "x", "\xff\xfe", "needle", "Straße"}
	files := map[string]string{}
	for range 150 {
		var path []string
		for range 1 + r.IntN(4) {
			path = append(path, []string{"a", "b", "a.b", "a-b", "c", "ab"}[r.IntN(6)])
		}
		var b strings.Builder
		for range []int{0, 3, 30, 300, 30, 300, 3, 30, 3, 30_000}[r.IntN(10)] {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString(strconv.Itoa(r.IntN(1000)))
			b.WriteByte(" \n"[r.IntN(2)])
		}
		if r.IntN(30) == 0 {
			b.WriteString(strings.Repeat("long ", r.IntN(40_000)))
		}
		if r.IntN(20) == 0 {
			b.WriteString("\x00\r\n")
		}
		files[strings.Join(path, "/")+"/f"+strconv.Itoa(len(files))] = b.String()
	}
	inTree(t, files)
}

func randomSeed(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FIRSTMATCH_SEED"); s != "" {
		seed = must(strconv.ParseUint(s, 10, 64))
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to try again: FIRSTMATCH_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// randomPattern is made from a piece of some file, so that it is there, or is
// changed, so that it may not be.
func randomPattern(r *rand.Rand, files []string) naive {
	for {
		data := must(os.ReadFile(files[r.IntN(len(files))]))
		if len(data) == 0 {
			continue
		}
		at := r.IntN(len(data))
		text := string(data[at:min(len(data), at+1+r.IntN(24))])
		text, _, _ = strings.Cut(text, "\n")
		n := naive{text: text, show: shownText}
		switch r.IntN(6) {
		case 0:
			n.text += strconv.Itoa(r.IntN(1000))
		case 1:
			n.text = strings.ToUpper(strings.ToValidUTF8(n.text, "?"))
			n.fold = true
		case 2:
			k := r.IntN(len(n.text) + 1)
			n.expr, n.text = true, regexp.QuoteMeta(strings.ToValidUTF8(n.text[:k], "."))+`[^ ]?`+regexp.QuoteMeta(strings.ToValidUTF8(n.text[k:], ""))
		}
		if n.text != "" {
			return n
		}
	}
}

func (n naive) flags() []string {
	var flags []string
	if n.expr {
		flags = append(flags, "-e")
	}
	if n.fold {
		flags = append(flags, "-i")
	}
	return flags
}

// agree compares the program with the naive search for so many random patterns.
func agree(t *testing.T, root string, patterns int) {
	r := randomSeed(t)
	var files []string
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	found, different := 0, map[string]bool{}
	for range patterns {
		n := randomPattern(r, files)
		count := []int{1, 1, 2, 7, 100, 1000}[r.IntN(6)]
		want := n.tree(root, count)
		for _, par := range []int{1, 2, 1 + r.IntN(16)} {
			args := append(n.flags(), "-n", strconv.Itoa(par), "-count", strconv.Itoa(count), "--", n.text, root)
			got := callWith(environment{sys: []system{theSystem, plainSystem{}}[r.IntN(2)]}, args...)
			code := exitFound
			if want == "" {
				code = exitNotFound
			}
			if got.code != code || got.stdout != want || got.stderr != "" {
				t.Fatalf("%q: exit code %d\ngot  %.2000s\nwant %.2000s\nstderr %s", args, got.code, got.stdout, want, got.stderr)
			}
		}
		if want != "" {
			found++
			path, _, _ := strings.Cut(want, ":")
			different[path] = true
		}
	}
	if found < patterns/4 || len(different) < patterns/10 {
		t.Errorf("%d patterns of %d found, first in %d files: that proves little", found, patterns, len(different))
	}
}

func TestAnswerIsThatOfASequentialSearch(t *testing.T) {
	randomTree(t, randomSeed(t))
	patterns := 100
	if programtest.RaceDetector {
		patterns = 25
	}
	agree(t, "a", patterns)
}
