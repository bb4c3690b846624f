package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// BenchmarkEngine compares the engines on the sample, fifty times over, from the
// first byte of the log to the last of the output. lines/s is what to look at.
func BenchmarkEngine(b *testing.B) {
	const times = 50
	log := strings.Repeat(string(sampleLog), times)
	db, err := sampleIn(context.Background(), b.TempDir(), keyClient)
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"sqlite", nil},
		{"sqlite/batch=64", []string{"-batch", "64"}},
		{"sqlite/coalesce=64/n=64", []string{"-coalesce", "64", "-n", "64"}},
		{"latency=1ms/n=64", []string{"-latency", "1ms", "-n", "64"}},
	} {
		for _, engine := range []string{"loop", "sluice", "rill"} {
			if engine == "loop" && strings.HasPrefix(tt.name, "latency") {
				continue // it takes the latency times the lines, and there is nothing to measure
			}
			b.Run(fmt.Sprintf("%s/%s", tt.name, engine), func(b *testing.B) {
				args := append([]string{"-q", "-in", "-", "-db", db, "-engine", engine}, tt.args...)
				start := time.Now()
				for b.Loop() {
					ctx, cancel := context.WithCancelCause(context.Background())
					env := environment{stdin: strings.NewReader(log), stdout: io.Discard, stderr: io.Discard}
					if code := run(ctx, args, env); code != program.OK {
						b.Fatalf("exit code %d", code)
					}
					cancel(nil)
				}
				lines := float64(b.N * times * strings.Count(string(sampleLog), "\n"))
				b.ReportMetric(lines/time.Since(start).Seconds(), "lines/s")
			})
		}
	}
}
