package ordered_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// Pages are fetched four at a time, and come out in the order in which they were
// asked for. Here the first one takes longest: it waits for the last one.
func ExampleMap() {
	last := make(chan struct{})
	fetch := func(_ context.Context, page int) (string, error) {
		switch page {
		case 1:
			<-last
		case 4:
			close(last)
		}
		return fmt.Sprint("page ", page), nil
	}
	pages := ordered.Map(stage.Of(1, 2, 3, 4), 4, fetch)
	fmt.Println(stage.Collect(context.Background(), pages))
	// Output: [page 1 page 2 page 3 page 4] <nil>
}

// The error that ends the run is that of the first item that fails, also if a
// later one failed before it.
func ExampleMap_errors() {
	late := make(chan struct{})
	check := func(_ context.Context, block string) (string, error) {
		switch block {
		case "b":
			<-late
			return "", errors.New("block b is damaged")
		case "d":
			defer close(late)
			return "", errors.New("block d is damaged")
		}
		return block, nil
	}
	for block, err := range ordered.Map(stage.Of("a", "b", "c", "d"), 4, check).Seq(context.Background()) {
		fmt.Printf("%q %v\n", block, err)
	}
	// Output:
	// "a" <nil>
	// "" block b is damaged
}

func ExampleFilter() {
	exists := func(_ context.Context, user string) (bool, error) {
		return !strings.HasPrefix(user, "deleted-"), nil // asks the directory
	}
	users := ordered.Filter(stage.Of("ana", "deleted-7", "bob", "cleo"), 3, exists)
	fmt.Println(stage.Collect(context.Background(), users))
	// Output: [ana bob cleo] <nil>
}

// The size of each file that has one; folders are left out.
func ExampleFilterMap() {
	stat := func(_ context.Context, name string) (size int, isFile bool, err error) {
		if strings.HasSuffix(name, "/") {
			return 0, false, nil
		}
		return 100 * len(name), true, nil
	}
	sizes := ordered.FilterMap(stage.Of("a.txt", "img/", "b.go"), 2, stat)
	fmt.Println(stage.Collect(context.Background(), sizes))
	// Output: [500 400] <nil>
}

// What the store does not have is left out, and so is its place; what else goes
// wrong ends the run.
func ExampleCatch() {
	errMissing := errors.New("missing")
	load := func(_ context.Context, key string) (string, error) {
		if key == "k2" {
			return "", fmt.Errorf("%w: %s", errMissing, key)
		}
		return "value of " + key, nil
	}
	values := ordered.Map(stage.Of("k1", "k2", "k3"), 4, load)
	kept := ordered.Catch(values, stage.Inline, func(_ context.Context, err error) error {
		if errors.Is(err, errMissing) {
			return nil // left out
		}
		return err
	})
	fmt.Println(stage.Collect(context.Background(), kept))
	// Output: [value of k1 value of k3] <nil>
}

// Three files are read at once, and their lines come file by file, as if one had
// been read after the other.
func ExampleFlatMap() {
	read := func(_ context.Context, file string) stage.Stream[string] {
		return stage.Of(file+":1", file+":2")
	}
	lines := ordered.FlatMap(stage.Of("mon.log", "tue.log", "wed.log"), 3, read)
	fmt.Println(stage.Collect(context.Background(), lines))
	// Output: [mon.log:1 mon.log:2 tue.log:1 tue.log:2 wed.log:1 wed.log:2] <nil>
}

// Which is the first file, in order, that has the word? A later one that is
// searched sooner does not win.
func ExampleFirst() {
	files := map[string]string{"a.md": "to do", "b.md": "the sluice gate", "c.md": "a sluice"}
	later := make(chan struct{})
	contains := func(_ context.Context, name string) (bool, error) {
		switch name {
		case "b.md":
			<-later
		case "c.md":
			defer close(later)
		}
		return strings.Contains(files[name], "sluice"), nil
	}
	fmt.Println(ordered.First(context.Background(), stage.Of("a.md", "b.md", "c.md"), 3, contains))
	// Output: b.md true <nil>
}

// Mails are checked four at a time by a slow filter. Both mailboxes keep the order
// in which the mails came.
func ExampleSplit() {
	spam := func(_ context.Context, mail string) (bool, error) { return strings.Contains(mail, "win"), nil }
	junk, inbox := ordered.Split(stage.Of("hello", "win a boat", "minutes", "win now"), 4, spam)
	var in, out []string
	err := stage.Run(context.Background(),
		stage.To(inbox, 1, func(_ context.Context, m string) error { in = append(in, m); return nil }),
		stage.To(junk, 1, func(_ context.Context, m string) error { out = append(out, m); return nil }),
	)
	fmt.Println(in, out, err)
	// Output: [hello minutes] [win a boat win now] <nil>
}
