package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// askedKeys is a store that knows nobody, takes a while for each query, and notes
// the keys of each.
type askedKeys struct {
	takes time.Duration
	mu    sync.Mutex
	asked []string
}

func (s *askedKeys) find(ctx context.Context, keys []string) (map[string][]byte, error) {
	s.mu.Lock()
	s.asked = append(s.asked, strings.Join(keys, " "))
	s.mu.Unlock()
	if s.takes > 0 {
		time.Sleep(s.takes)
	}
	return nil, context.Cause(ctx)
}

// enrichKeys enriches a log with a line for each of the keys.
func enrichKeys(t *testing.T, st store, engine string, n, batch int, keys []string) {
	t.Helper()
	var log strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&log, `{"ip":%q}`+"\n", key)
	}
	in, err := openInput("-", strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	cfg := config{format: "json", key: keyClient, zone: time.UTC, field: "ip"}
	out := newOutput(io.Discard, "stdout")
	j := &job{src: newSource(in, 1<<10, batch, out), parser: newParser(cfg), store: st, out: out, n: n, stop: make(chan struct{})}
	if err := engines[engine](context.Background(), j); err != nil {
		t.Fatal(err)
	}
	if got := out.lines.Load(); got != int64(len(keys)) {
		t.Errorf("%d lines, want %d", got, len(keys))
	}
}

// A batch is one query, for each of its keys once.
func TestBatchAsksOnceForEachOfItsKeys(t *testing.T) {
	const lines, distinct = 100, 7
	keys := make([]string, lines)
	for i := range keys {
		keys[i] = fmt.Sprint("client-", i%distinct)
	}
	for engine := range maps.Keys(engines) {
		for _, batch := range []int{1, 3, 7, 10, 64, 500} {
			var want []string
			for some := range slices.Chunk(keys, batch) {
				some = slices.Clone(some)
				slices.Sort(some)
				want = append(want, strings.Join(slices.Compact(some), " "))
			}
			st := &askedKeys{}
			enrichKeys(t, st, engine, 4, batch, keys)
			slices.Sort(st.asked) // which lookup came first is not promised
			slices.Sort(want)
			if !slices.Equal(st.asked, want) {
				t.Errorf("-engine %s -batch %d: %d queries, want %d:\n%q\n%q", engine, batch, len(st.asked), len(want), st.asked, want)
			}
		}
	}
}

// With eight lookups at once, the first one finds no query under way and is one by
// itself; those that come meanwhile share the next one, and so on in turns.
func TestCoalesceMakesOneQueryOfLookupsThatMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		for i := range 24 {
			keys = append(keys, string(rune('a'+i%3)))
		}
		st := &askedKeys{takes: time.Second}
		shared := newCoalescingStore(st, 8)
		defer shared.close()
		start := time.Now()
		enrichKeys(t, shared, "sluice", 8, 1, keys)
		asked := slices.Clone(st.asked)
		for i := 0; i < len(asked); i += 2 {
			if len(asked[i]) == 1 {
				asked[i] = "one" // which of the eight came first is nobody's promise
			}
		}
		want := []string{"one", "a b c", "one", "a b c", "one", "a b c"}
		if d := time.Since(start); !slices.Equal(asked, want) || d != 6*time.Second {
			t.Errorf("asked for %q in %v, want %q", st.asked, d, want)
		}
	})
}
