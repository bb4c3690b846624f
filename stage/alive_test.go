package stage_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

type kept struct{ p *int }

// What f has returned from keeps nothing alive, also while f is in another item
// of the same chunk.
func TestValuesThatHaveBeenHandedOverAreNotKeptAliveP10(t *testing.T) {
	var seen []weak.Pointer[kept]
	look := func(b *kept) error {
		seen = append(seen, weak.Make(b))
		if len(seen)%97 == 0 {
			runtime.GC()
			alive := 0
			for _, p := range seen {
				if p.Value() != nil {
					alive++
				}
			}
			if alive > 2 { // this one, and perhaps one that a register still holds
				t.Errorf("%d of %d are alive", alive, len(seen))
			}
			runtime.KeepAlive(b)
		}
		return nil
	}
	pass := func(_ context.Context, b *kept) (*kept, error) { return b, nil }
	in := func(n int) stage.Stream[*kept] {
		src := stage.Generate(func(_ context.Context, yield func(*kept) bool) error {
			for k := range 2000 {
				if !yield(&kept{&k}) {
					break
				}
			}
			return nil
		})
		return ordered.Map(src, n, pass)
	}
	visit := func(_ context.Context, b *kept) error { return look(b) }
	for name, end := range map[string]func() error{
		"ForEach": func() error { return stage.ForEach(t.Context(), in(4), 1, visit) },
		"To":      func() error { return stage.Run(t.Context(), stage.To(in(4), 1, visit)) },
		"Inline":  func() error { return stage.ForEach(t.Context(), in(stage.Inline), stage.Inline, visit) },
		"Seq": func() error {
			for b := range in(4).Seq(t.Context()) {
				if err := look(b); err != nil {
					return err
				}
			}
			return nil
		},
		"Map inline": func() error {
			return stage.Discard(t.Context(), stage.Map(in(4), stage.Inline, func(_ context.Context, b *kept) (int, error) { return 0, look(b) }))
		},
		"Map of one": func() error {
			return stage.Discard(t.Context(), stage.Map(in(4), 1, func(_ context.Context, b *kept) (int, error) { return 0, look(b) }))
		},
	} {
		if seen = nil; end() != nil || len(seen) != 2000 {
			t.Errorf("%s: %d seen", name, len(seen))
		}
	}
}
