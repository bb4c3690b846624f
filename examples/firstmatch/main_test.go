package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	goleak.VerifyTestMain(m)
}

// systems are the two ways to read folders.
var systems = map[string]system{"the fewest calls": theSystem, "package os": plainSystem{}}

// A result is what a run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// call runs the program within the test.
func call(args ...string) result { return callWith(environment{sys: theSystem}, args...) }

func callWith(env environment, args ...string) result {
	return callContext(context.Background(), env, args...)
}

func callContext(ctx context.Context, env environment, args ...string) result {
	var stdout, stderr bytes.Buffer
	if env.stdin == nil {
		env.stdin = strings.NewReader("")
	}
	if env.stdout == nil {
		env.stdout = &stdout
	}
	env.stderr = &stderr
	code := run(ctx, args, env)
	return result{code, stdout.String(), stderr.String()}
}

// want fails the test unless the program ended with the code and the output, and
// without a word on stderr.
func (r result) want(t *testing.T, code int, stdout string) {
	t.Helper()
	if r.code != code || r.stdout != stdout || r.stderr != "" {
		t.Fatalf("exit code %d, want %d; stdout\n%swant\n%sstderr\n%s", r.code, code, r.stdout, stdout, r.stderr)
	}
}

// wantError fails the test unless the program failed with one line that has all
// of the words.
func (r result) wantError(t *testing.T, words ...string) {
	t.Helper()
	if r.code != exitFailed {
		t.Errorf("exit code %d, want %d", r.code, exitFailed)
	}
	programtest.WantOneLine(t, r.stderr, words...)
}

// inTree makes a folder of the files, whose names are paths with slashes and
// those of folders end in one, and makes it the working directory.
func inTree(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// drips reads one byte at a time, and at the end says so with the last one.
type drips struct{ data string }

func (d *drips) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(d.data) == 0 {
		return 0, io.EOF
	}
	p[0] = d.data[0]
	if d.data = d.data[1:]; d.data == "" {
		return 1, io.EOF
	}
	return 1, nil
}
