package measure

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestDrawingIsWellFormedAndShowsTheRowsAskedFor(t *testing.T) {
	var log []string
	g := groupOf(correct("a < b & c", &log), correct(us+" x", &log))
	g.Title, g.Drawn = "Title", []string{"r"}
	g.Rows = append(g.Rows, Row{Name: "not drawn"})
	picture := Draw([]*Result{fixed(g, map[string][]float64{"a < b & c": {100, 110}, us + " x": {10, 12}})})

	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, picture)
		}
	}
	for _, want := range []string{"Title: r", "a &lt; b &amp; c", us + " x", ">105<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(picture, "not drawn") {
		t.Error("the picture shows a row that was not asked for")
	}
}

// The picture is as wide as its longest label, which ends where the bars begin.
func TestLongLabelsAreNotCutOff(t *testing.T) {
	var log []string
	long := strings.Repeat("label ", 20)
	for name, want := range map[string]int{"short": labelWidth - 6, long: letterWidth*len(long) + 2*margin - 6} {
		g := groupOf(correct(name, &log), correct(us+" x", &log))
		g.Drawn = []string{"r"}
		picture := Draw([]*Result{fixed(g, map[string][]float64{name: {100}, us + " x": {10}})})
		for _, part := range []string{
			fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d"`, want+6+room+valueWidth),
			fmt.Sprintf(`<text x="%d" y="68" text-anchor="end">%s</text>`, want, name),
			fmt.Sprintf(`<rect x="%d" y="56" width="%d.0"`, want+6, room),
		} {
			if !strings.Contains(picture, part) {
				t.Errorf("%q: the picture lacks %s", name, part)
			}
		}
	}
}

func TestALongerBarIsASlowerContender(t *testing.T) {
	for name, length := range map[string]func(float64) float64{"linear": linear(1000), "logarithmic": logarithmic(1000)} {
		if a, b := length(10), length(100); a >= b || b >= length(1000) || length(1000) != room {
			t.Errorf("%s: 10 ns has %v pixels, 100 ns %v, 1000 ns %v", name, a, b, length(1000))
		}
	}
	if l := logarithmic(1000)(0.5); l != 0 {
		t.Errorf("below 1 ns: got %v pixels, want none", l)
	}
}
