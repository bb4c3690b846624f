package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
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
			all = append(all, process(e, 0))
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

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, arg := range []string{"-events=0", "-keys=0", "-keys=x", "-skew=0.5", "-workers=0", "-work=-1s", "-repeats=0", "-durability=never", "-only=fast", "-keep", "extra"} {
		if status, _, errs := tried(t, arg); status != program.Usage || errs == "" {
			t.Errorf("%s: status %d, %q", arg, status, errs)
		}
	}
	if status, _, errs := tried(t, "-events=10", "-dir="+filepath.Join(t.TempDir(), "none")); status != program.Failed || !strings.Contains(errs, "no such file") {
		t.Errorf("status %d, %q", status, errs)
	}
}
