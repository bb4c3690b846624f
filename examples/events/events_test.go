package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/sink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func tried(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = command(t.Context(), append([]string{"-repeats=1", "-counters=false"}, args...), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestEveryWayLeavesEachEventOnce(t *testing.T) {
	for _, args := range [][]string{
		{"-events=1"}, {"-events=63", "-workers=1"}, {"-events=20000"}, {"-events=20000", "-keys=1"},
		{"-events=20000", "-skew=1.2", "-workers=8"}, {"-events=500", "-work=1us"}, {"-events=3000", "-durability=1ms"}, {"-events=300", "-durability=sync"},
	} {
		dir := t.TempDir()
		status, out, errs := tried(t, append(args, "-dir="+dir)...)
		if status != 0 || errs != "" {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
		for _, name := range names() {
			if !strings.Contains(out, name) {
				t.Errorf("%v: no %s in\n%s", args, name, out)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v: left %v", args, left)
		}
	}
}

func TestCheckFindsWhatIsWrongWithAFile(t *testing.T) {
	c := config{events: 100, keys: 3}
	events := makeEvents(c)
	good := func() (all []Result) {
		for _, e := range events {
			all = append(all, process(context.Background(), e, 0))
		}
		return all
	}
	for want, change := range map[string]func([]Result) []Result{
		"":                        func(all []Result) []Result { return all },
		"99 records of 100":       func(all []Result) []Result { return all[1:] },
		"event 7 is there twice":  func(all []Result) []Result { return append(all, all[7]) },
		"event 5 has the record":  func(all []Result) []Result { all[5].Sum++; return all },
		"record 3 is of no event": func(all []Result) []Result { all[3] = Result{}; return all },
		"out of the order": func(all []Result) []Result {
			i, j := 10, 11
			for all[i].Key != all[j].Key {
				j++
			}
			all[i], all[j] = all[j], all[i]
			return all
		},
	} {
		all := change(good())
		w := &way{ordered: true, records: func(_ string, _ config, each func(Result)) error {
			for _, r := range all {
				each(r)
			}
			return nil
		}}
		_, err := check(w, c, events, "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestWaysEndWhenTheirContextDoes(t *testing.T) {
	c := config{events: 200_000, keys: 10, workers: 4}
	events := makeEvents(c)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	for _, w := range ways {
		did, err := w.do(ctx, c, events, filepath.Join(t.TempDir(), w.name))
		if !errors.Is(err, why) {
			t.Errorf("%s: %v", w.name, err)
		}
		if did.close == nil || did.close() != nil {
			t.Errorf("%s: not closed", w.name)
		}
	}
}

// What sluice promises of its ways that need no owner of a key is more than check looks
// at: all records in the order of the events, and of a run that is cancelled the first ones,
// without a gap.
func TestAllRecordsAreInOrderAlsoOfACancelledRun(t *testing.T) {
	for _, name := range []string{"sluice", "single"} {
		w := wayOf(name)
		c := config{events: 20_001, keys: 7, workers: 8}
		path := filepath.Join(t.TempDir(), name)
		if n, err := recordsInOrder(t, t.Context(), w, c, path); n != c.events || err != nil {
			t.Errorf("%s: %d records, %v", name, n, err)
		}
		c = config{events: 200_000, keys: 7, workers: 4, work: 100 * time.Microsecond} // 10 s of work
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		path += "-cancelled"
		go cancelAtTheFirst(path, cancel, why)
		n, err := recordsInOrder(t, ctx, w, c, path)
		if !errors.Is(err, why) || n < 1 || n == c.events {
			t.Errorf("%s: %d records, %v", name, n, err)
		}
	}
}

// cancelAtTheFirst cancels when the log has a record.
func cancelAtTheFirst(path string, cancel context.CancelCauseFunc, why error) {
	defer cancel(why)
	for {
		if log, err := sink.Open[Result](path, sink.ReadOnly()); err == nil {
			for range log.Follow(context.Background()) {
				break
			}
			log.Close()
			return
		}
		runtime.Gosched() // a way that makes no log is the test's timeout
	}
}

// recordsInOrder runs a way, and returns how many records it leaves, each at the place of
// its event.
func recordsInOrder(t *testing.T, ctx context.Context, w *way, c config, path string) (n int, err error) {
	t.Helper()
	did, err := w.do(ctx, c, makeEvents(c), path)
	if e := did.close(); e != nil {
		t.Errorf("%s: close: %v", w.name, e)
	}
	if e := w.records(path, c, func(r Result) {
		if r.ID != uint64(n) {
			t.Fatalf("%s: record %d is of event %d", w.name, n, r.ID)
		}
		n++
	}); e != nil {
		t.Errorf("%s: %v", w.name, e)
	}
	return n, err
}

// A batch of long work does not hold up the end.
func TestWorkEndsWhenItsContextDoes(t *testing.T) {
	c := config{events: 1000, keys: 7, workers: 2, work: time.Hour}
	events := makeEvents(c)
	why := errors.New("enough")
	for _, w := range ways {
		path := filepath.Join(t.TempDir(), w.name)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			did, err := w.do(ctx, c, events, path)
			did.close()
			ended <- err
		}()
		for _, err := os.Stat(path); err != nil; _, err = os.Stat(path) { // it has begun
			runtime.Gosched()
		}
		cancel(why)
		if err := <-ended; !errors.Is(err, why) { // or the test's timeout
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

func TestNothingIsLeftInTheFolderOfARunThatFails(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "sluice.events")
	if err := os.MkdirAll(filepath.Join(full, "not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := tried(t, "-events=1000", "-only=naive,sluice", "-dir="+dir); status != program.Failed {
		t.Errorf("status %d, %s", status, errs)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, arg := range []string{"-events=0", "-keys=0", "-keys=x", "-skew=0.5", "-workers=0", "-work=-1s", "-repeats=0", "-durability=never", "-durability=999us", "-only=fast", "-only=loop,naive,loop", "-events=2147483648", "-keep", "extra"} {
		if status, _, errs := tried(t, arg); status != program.Usage || errs == "" {
			t.Errorf("%s: status %d, %q", arg, status, errs)
		}
	}
	if status, _, errs := tried(t, "-events=10", "-dir="+filepath.Join(t.TempDir(), "none")); status != program.Failed || !strings.Contains(errs, "no such file") {
		t.Errorf("status %d, %q", status, errs)
	}
}
