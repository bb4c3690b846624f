package batch_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// Without items, too, newState is called by a worker.
func TestFoldReportsWhatNewStateDoesHoweverManyItemsThereAreP9(t *testing.T) {
	for _, items := range []int{0, 1, 10} {
		v := wantPanic(t, func() {
			batch.Fold(context.Background(), upTo(items), 2, func() int { panic(errE) }, sum, sum)
		})
		if p, ok := v.(*stage.Panic); !ok || p.Stage != "batch.Fold" || !errors.Is(p, errE) {
			t.Errorf("%d items: %v", items, v)
		}
		returned := make(chan error, 1)
		go func() {
			defer close(returned)
			_, err := batch.Fold(context.Background(), upTo(items), 2, func() int { runtime.Goexit(); return 0 }, sum, sum)
			returned <- err
		}()
		if err := <-returned; !errors.Is(err, stage.ErrGoexit) {
			t.Errorf("%d items: %v", items, err)
		}
	}
}

// A merge belongs to no item, however it fails: items behind it are added, and an
// error of theirs is the one that is returned.
func TestAMergeThatFailsMasksNoErrorOfAnItemP8(t *testing.T) {
	for name, merge := range map[string]func(a, b int) (int, error){
		"error":  func(_, _ int) (int, error) { return 0, errors.New("merge") },
		"goexit": func(_, _ int) (int, error) { runtime.Goexit(); return 0, nil },
	} {
		bubble(t, func(t *testing.T) {
			merged := make(chan struct{})
			// Three workers have one item each; the merge of the first two comes
			// before the third item fails.
			_, err := batch.Reduce(context.Background(), upTo(3), 3, 0,
				func(_ context.Context, s, v int) (int, error) {
					if v < 2 {
						return s + v, nil
					}
					<-merged
					return 0, errE
				}, func(a, b int) (int, error) {
					defer close(merged)
					return merge(a, b)
				})
			if err != errE {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
