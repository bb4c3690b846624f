package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// project makes a git repository with a module of one package, and returns its root.
func project(t *testing.T, list string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                  "module m\n\ngo 1.26\n",
		"m.go":                    "package m\n\nfunc half(n int) int {\n\tif n < 0 {\n\t\treturn 0\n\t}\n\treturn n / 2\n}\n",
		"m_test.go":               "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif half(4) != 2 {\n\t\tt.Fatal(half(4))\n\t}\n}\n",
		"scripts/mutants.d/m.txt": list,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("GOWORK", "off")
	return root
}

const (
	noticed   = "# wrong divisor\nfile m.go\n- \treturn n / 2\n+ \treturn n / 3\ntest . -run 'TestHalf'\n"
	missed    = "# negative numbers are let through\nfile m.go\n- \tif n < 0 {\n- \t\treturn 0\n- \t}\ntest .\n"
	stale     = "# no such text\nfile m.go\n- \treturn n / 7\ntest .\n"
	senseless = "# does not compile\nfile m.go\n- \treturn n / 2\n+ \treturn nn\ntest .\n"
	endless   = "# never ends\nfile m.go\n- \treturn n / 2\n+ \tfor {\n+ \t}\ntest .\n"
)

func TestEveryFaultHasItsVerdict(t *testing.T) {
	root := project(t, strings.Join([]string{noticed, missed, stale, senseless, endless}, "\n"))
	var out strings.Builder
	ok, err := run([]string{"-root", root, "-timeout", "1s"}, &out)
	if ok || err != nil {
		t.Errorf("run = %v, %v", ok, err)
	}
	for _, want := range []string{
		"killed    m.go: wrong divisor",
		"SURVIVED  m.go: negative numbers are let through",
		"STALE     m.go: no such text",
		"BROKEN    m.go: does not compile",
		"hung      m.go: never ends",
		"5 faults, 2 noticed\nSURVIVED m.go: negative",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &out)
		}
	}
}

func TestOnlyTheChosenAreChosen(t *testing.T) {
	root := project(t, noticed+"\n\n"+missed)
	var out strings.Builder
	if ok, err := run([]string{"-root", root, "-run", "divisor"}, &out); !ok || err != nil {
		t.Errorf("run = %v, %v\n%s", ok, err, &out)
	}
	out.Reset()
	if ok, err := run([]string{"-root", root, "-list"}, &out); !ok || err != nil || strings.Count(out.String(), "m.go: ") != 2 {
		t.Errorf("-list = %v, %v\n%s", ok, err, &out)
	}
	for _, args := range [][]string{{"-run", "nothing"}, {"-run", "("}} {
		if ok, err := run(append(args, "-root", root), &out); ok || err == nil {
			t.Errorf("%v: %v, %v", args, ok, err)
		}
	}
}

func TestTestsThatFailWithoutAFaultAreAnError(t *testing.T) {
	root := project(t, strings.Replace(noticed, "test . -run 'TestHalf'", "test ./nowhere", 1))
	var out strings.Builder
	if ok, err := run([]string{"-root", root}, &out); ok || err == nil || !strings.Contains(err.Error(), "without any fault") {
		t.Errorf("run = %v, %v", ok, err)
	}
}

func TestBadBlocksAreErrorsThatNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"# why\nfile f\n- a\n":                   "list:1: the block lacks a line test",
		"\n\nfile f\n- a\ntest x\n":              "list:3: the block lacks a line #",
		"# why\n- a\ntest x\n":                   "list:1: the block lacks a line file",
		"# why\nfile f\ntest x\n":                "list:1: the block lacks lines -",
		"# why\nfile f\n- a\n+ a\ntest x\n":      "list:1: lines - and + are alike",
		"# why\nfile f\n- a\ntest x\ntries 0\n":  `list:1: tries "0" is not a positive number`,
		"# why\nfile f\n- a\ntest x\nelse\n\n\n": `list:1: a line begins with "else"`,
		"# a\nfile f\n- a\ntest x\n\n# b\n":      "list:6: the block lacks",
	} {
		if _, err := parse("list", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTextMustStandThereOnce(t *testing.T) {
	m := mutant{file: "f", old: "a\nb", new: "c"}
	if got, err := m.apply("x\na\nb\ny\n"); err != nil || got != "x\nc\ny\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"a\n", "a\nb\na\nb\n"} {
		if _, err := m.apply(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	m.new = ""
	if got, err := m.apply("x\na\nb\ny\n"); err != nil || got != "x\ny\n" {
		t.Errorf("deleted: %q, %v", got, err)
	}
}
