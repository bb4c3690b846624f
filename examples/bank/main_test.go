package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asBank) != "" {
		main() // the process that run has started
	}
	programtest.Main(main)
	goleak.VerifyTestMain(m)
}

// A result is what a run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// call runs the program within the test; the bank is a process of its own all the same.
func call(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), args, environment{stdout: &stdout, stderr: &stderr})
	return result{code, stdout.String(), stderr.String()}
}

// want fails the test unless the program ended with code, and has written the words.
func (r result) want(t *testing.T, code int, words ...string) {
	t.Helper()
	right := r.code == code
	for _, w := range words {
		right = right && strings.Contains(r.stdout, w)
	}
	if !right {
		t.Fatalf("exit code %d, want %d and %q; stdout:\n%sstderr:\n%s", r.code, code, words, r.stdout, r.stderr)
	}
}

// wantError fails the test unless the program failed with one line that has all of the
// words.
func (r result) wantError(t *testing.T, words ...string) {
	t.Helper()
	if r.code != program.Failed {
		t.Errorf("exit code %d, want %d", r.code, program.Failed)
	}
	programtest.WantOneLine(t, r.stderr, words...)
}

func newDB(t *testing.T) string { return filepath.Join(t.TempDir(), "bank.db") }

// operations is how many a small plan has; with the race detector fewer will do.
var operations = func() int {
	if programtest.RaceDetector {
		return 150
	}
	return 600
}()

// small are the flags of a plan that is soon carried out.
func small(more ...string) []string {
	return append([]string{"-accounts", "20", "-operations", strconv.Itoa(operations), "-clients", "16", "-owners", "4"}, more...)
}

// smallConfig is what they say.
func smallConfig(t *testing.T, more ...string) config {
	t.Helper()
	cfg, err := parseFlags(small(more...), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
