package main

import (
	"fmt"
	"io"
	"regexp"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// pictures are what -pictures draws. A new one is a file picture_….go, and a line here.
var pictures = []struct {
	name string
	draw func(dir string, p measure.Plan, w io.Writer) error
}{
	{"orders", drawPictures},
	{"routing", func(dir string, _ measure.Plan, _ io.Writer) error { return drawRouting(dir) }},
	{"adaptive", func(dir string, _ measure.Plan, w io.Writer) error { return drawAdaptive(dir, w) }},
}

// drawAll draws the pictures whose name matches into dir, and writes their tables to w.
func drawAll(dir string, which *regexp.Regexp, p measure.Plan, w io.Writer) error {
	drawn := false
	for _, picture := range pictures {
		if !which.MatchString(picture.name) {
			continue
		}
		drawn = true
		if err := picture.draw(dir, p, w); err != nil {
			return fmt.Errorf("picture %s: %w", picture.name, err)
		}
	}
	if !drawn {
		return fmt.Errorf("no picture matches -which %q", which)
	}
	return nil
}
