package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOnlyAFullMeasurementOverwritesTheResults(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "RESULTS.md"}, // the test runs in bench itself
		{"-repeats 20", "RESULTS.md"},
		{"-rows ordered", ""},
		{"-quick", ""},
		{"-quick -out x.md", "x.md"},
		{"-rows ordered -out x.md", "x.md"},
	} {
		s, err := parse(strings.Fields(c.args), io.Discard)
		if err != nil || s.out != c.want {
			t.Errorf("%q: got %q, %v; want %q", c.args, s.out, err, c.want)
		}
	}
}

func TestFromTheProjectsRootTheResultsGoIntoBench(t *testing.T) {
	t.Chdir("..")
	if got, want := defaultOut(), filepath.Join("bench", "RESULTS.md"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQuickLeavesWhatIsGivenAlone(t *testing.T) {
	s, err := parse([]string{"-quick", "-items", "77"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.items != 77 || s.plan.Repeats != 2 || s.plan.AtLeast != time.Millisecond {
		t.Errorf("got %d items, %+v", s.items, s.plan)
	}
}

func TestBadArgumentsAreErrors(t *testing.T) {
	for _, args := range []string{"-repeats 0", "-items -1", "-rows (", "-nonsense", "surplus"} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestRowsThatMatchNothingAreAnError(t *testing.T) {
	err := run([]string{"-quick", "-rows", "no such row"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no such row") {
		t.Errorf("got %v", err)
	}
}

func TestReportIsPrintedAndWritten(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report.md")
	var printed bytes.Buffer
	err := run([]string{"-quick", "-items", "100", "-turn", "0s", "-rows", "ordered/n = 4", "-out", out}, &printed, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(printed.String()) != strings.TrimSpace(string(written)) {
		t.Error("the file differs from what was printed")
	}
	if drawn, err := os.ReadFile(strings.TrimSuffix(out, "md") + "svg"); err != nil || !strings.Contains(string(drawn), sluiceOrdered.name) {
		t.Errorf("no drawing: %v", err)
	}
	for _, want := range []string{"# Measurements", "| CPU ", "| commit ", "## Targets", plainLoop.name, rillOrderedMap.name, sluiceOrdered.name} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(printed.String(), "| n = 8") {
		t.Error("a row that -rows leaves out was measured")
	}
}
