package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// A listed is a candidate with what it is sorted by.
type listed struct {
	candidate
	base  string
	size  int64
	mtime time.Time
}

// sorted is the stream of the candidates of a walk in an order of which no part
// is known before the walk is over. Files are sorted by their path where they are
// alike. An error comes first: where what could not be read belongs is not known.
func sorted(ctx context.Context, walk stage.Stream[candidate], cfg config, release func(*folder)) (stage.Stream[candidate], int64, error) {
	list := ordered.Map(walk, cfg.n, func(_ context.Context, c candidate) (listed, error) {
		l := listed{candidate: c, base: filepath.Base(c.name)}
		if c.err == nil && cfg.order != orderName && !c.isStdin() {
			stat := os.Lstat
			if c.dir == nil {
				stat = os.Stat
			}
			st, err := stat(c.path())
			if err != nil {
				l.err = err
			} else {
				l.size, l.mtime = st.Size(), st.ModTime()
			}
		}
		if c.err == nil {
			release(c.dir) // it is opened by its path
		}
		return l, nil
	}, stage.Name("list"))
	all, err := stage.Collect(ctx, list)
	if err != nil {
		return stage.Stream[candidate]{}, 0, err
	}
	slices.SortStableFunc(all, func(a, b listed) int {
		if (a.err != nil) != (b.err != nil) {
			if a.err != nil {
				return -1
			}
			return 1
		}
		switch cfg.order {
		case orderName:
			return strings.Compare(a.base, b.base)
		case orderSize:
			return cmp.Compare(a.size, b.size)
		}
		return a.mtime.Compare(b.mtime)
	})
	candidates := make([]candidate, len(all))
	for i, l := range all {
		candidates[i] = l.candidate
		candidates[i].seq = int64(i)
		if l.dir != nil && l.err == nil {
			l.dir.users.Add(1)
		}
	}
	return stage.FromSlice(candidates), int64(len(all)), nil
}
