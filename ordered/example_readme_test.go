package ordered_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

var errMalformed = errors.New("malformed line")

type visit struct{ host, path, name string }

func parse(_ context.Context, line string) (visit, error) {
	host, path, ok := strings.Cut(line, " ")
	if !ok {
		return visit{}, fmt.Errorf("%w: %q", errMalformed, line)
	}
	return visit{host: host, path: path}, nil
}

// lookup stands for a query to a database or a service.
func lookup(_ context.Context, v visit) (visit, error) {
	v.name = map[string]string{"192.0.2.7": "ana", "192.0.2.9": "bob"}[v.host]
	return v, nil
}

func enrich(ctx context.Context, open func(context.Context) (io.ReadCloser, error), to io.Writer) error {
	lines := stage.Lines(open)
	visits := ordered.Map(lines, stage.Inline, parse) // cheap: runs where it is read
	named := ordered.Map(visits, 8, lookup)           // 8 at once, in the order of the lines
	known := ordered.Catch(named, stage.Inline, func(_ context.Context, err error) error {
		if errors.Is(err, errMalformed) {
			return nil // left out
		}
		return err // ends the run
	})
	return stage.ForEach(ctx, known, 1, func(_ context.Context, v visit) error {
		_, err := fmt.Fprintln(to, v.name, v.path)
		return err
	})
}

func Example() {
	log := "192.0.2.7 /login\nbroken\n192.0.2.9 /docs\n192.0.2.7 /logout\n"
	err := enrich(context.Background(), func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log)), nil // or os.Open
	}, os.Stdout)
	fmt.Println("error:", err)
	// Output:
	// ana /login
	// bob /docs
	// ana /logout
	// error: <nil>
}
