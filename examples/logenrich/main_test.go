package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// testCache stands in for the user's cache folder.
var testCache string

func TestMain(m *testing.M) {
	programtest.Main(main)
	var err error
	if testCache, err = os.MkdirTemp("", "logenrich-test-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(testCache)
		os.Exit(code)
	}))
}

// A result is what a run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// call runs the program within the test.
func call(stdin io.Reader, args ...string) result {
	return callContext(context.Background(), stdin, args...)
}

func callContext(ctx context.Context, stdin io.Reader, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, environment{
		stdin: stdin, stdout: &stdout, stderr: &stderr,
		cacheDir: func() (string, error) { return testCache, nil },
	})
	return result{code, stdout.String(), stderr.String()}
}

// want fails the test unless the program ended with code.
func (r result) want(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d; stderr:\n%s", r.code, code, r.stderr)
	}
	return r
}

// wantError fails the test unless the program failed with one line that has all
// of the words.
func (r result) wantError(t *testing.T, words ...string) result {
	t.Helper()
	r.want(t, program.Failed)
	programtest.WantOneLine(t, r.stderr, words...)
	return r
}

// A row is a line of output.
type row struct {
	Line      int             `json:"line"`
	Host      string          `json:"host"`
	User      *string         `json:"user"`
	Time      string          `json:"time"`
	Request   *string         `json:"request"`
	Status    *int            `json:"status"`
	Bytes     *int            `json:"bytes"`
	Referer   *string         `json:"referer"`
	Agent     *string         `json:"agent"`
	Agent64   []byte          `json:"agent_base64"`
	Fields    json.RawMessage `json:"fields"`
	Client    map[string]any  `json:"client"`
	Raw       string          `json:"raw"`
	Raw64     []byte          `json:"raw_base64"`
	Malformed string          `json:"error"`
}

// rows decodes the output, and fails the test unless its lines are numbered from
// 1 on.
func (r result) rows(t *testing.T) []row {
	t.Helper()
	var all []row
	for text := range strings.Lines(r.stdout) {
		var one row
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatalf("output line %d is not JSON: %v\n%s", len(all)+1, err, text)
		}
		if !strings.HasSuffix(text, "}\n") {
			t.Fatalf("output line %d does not end: %s", len(all)+1, text)
		}
		all = append(all, one)
		if one.Line != len(all) {
			t.Fatalf("output line %d is of line %d", len(all), one.Line)
		}
	}
	return all
}

// combinedLine is a good line, with a number in it to know it by.
func combinedLine(i int) string {
	return fmt.Sprintf(`192.0.2.%d - - [04/Mar/2024:08:00:00 +0000] "GET /%d HTTP/1.1" 200 512 "-" "curl/8.5.0"`, i%256, i)
}

// logOf is a log of n good lines.
func logOf(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(combinedLine(i))
		b.WriteByte('\n')
	}
	return b.String()
}

// testFile writes a file for the test and returns its name.
func testFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
