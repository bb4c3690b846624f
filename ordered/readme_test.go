package ordered_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The program in the README is the package's example, as a command.
func TestProgramInTheReadmeIsTheExampleThatRuns(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(string(example), "\r\n", "\n")
	want = strings.Replace(want, "package ordered_test", "package main", 1)
	want = strings.Replace(want, "func Example()", "func main()", 1)
	want = regexp.MustCompile(`(?m)^\t// Output:\n(\t// .*\n)+`).ReplaceAllString(want, "")
	got := strings.ReplaceAll(string(readme), "\r\n", "\n")
	if !strings.Contains(got, "\n```go\n"+want+"```\n") {
		t.Errorf("README.md lacks this program:\n%s", want)
	}
}
