package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

func TestCoalescedLookupsGiveTheSameBytes(t *testing.T) {
	want := call(bytes.NewReader(sampleLog), "-in", "-", "-engine", "loop").want(t, program.OK).stdout
	for _, engine := range []string{"loop", "sluice", "rill"} {
		for _, args := range [][]string{{"-n", "1", "-coalesce", "2"}, {"-n", "16", "-coalesce", "5"}, {"-n", "64", "-coalesce", "500"}} {
			args = append(args, "-in", "-", "-engine", engine)
			if got := call(bytes.NewReader(sampleLog), args...).want(t, program.OK).stdout; got != want {
				t.Errorf("%v: the output differs", args)
			}
		}
	}
}

func TestCoalesceTakesAPlaceOfItsOwnAmongTheFlags(t *testing.T) {
	for _, args := range []string{"-coalesce -1", "-coalesce 5000", "-coalesce 8 -batch 8"} {
		if r := call(nil, strings.Fields(args)...).want(t, program.Usage); !strings.Contains(r.stderr, "-coalesce") {
			t.Errorf("%s: %q", args, r.stderr)
		}
	}
}

// slowKeys is a store that takes a second for each query and notes its keys.
type slowKeys struct {
	mu    sync.Mutex
	asked []string
}

func (s *slowKeys) find(ctx context.Context, keys []string) (map[string][]byte, error) {
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprint(keys))
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	found := make(map[string][]byte)
	for _, key := range keys {
		if key != "unknown" {
			found[key] = []byte("{" + key + "}")
		}
	}
	return found, nil
}

func TestLookupsThatMeetShareAQueryAndEachKeyIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowKeys{}
		st := newCoalescingStore(slow, 10)
		defer st.close()
		var wg sync.WaitGroup
		for i, key := range []string{"a", "b", "unknown", "b", "c"} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				found, err := st.find(context.Background(), []string{key})
				if row, ok := found[key]; err != nil || ok == (key == "unknown") || ok && string(row) != "{"+key+"}" {
					t.Errorf("%s: %s, %v", key, row, err)
				}
			})
		}
		wg.Wait()
		if want := []string{"[a]", "[b c unknown]"}; !slices.Equal(slow.asked, want) {
			t.Errorf("asked for %v, want %v", slow.asked, want)
		}
	})
}

func TestALookupThatIsAbortedLeavesNoQueryBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newCoalescingStore(&slowKeys{}, 10)
		ctx, abort := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Millisecond, func() { abort(program.ErrAborted) })
		if _, err := st.find(ctx, []string{"a"}); !errors.Is(err, program.ErrAborted) {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		st.close()
		if d := time.Since(start); d > 0 {
			t.Errorf("closed after %v", d)
		}
	})
}
