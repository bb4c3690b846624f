package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed95b73fdc/sluice/stage"
)

// Four lookups run at once, and each result is printed as soon as it is there.
func ExampleMap() {
	addresses := map[string]string{"alpha": "192.0.2.1", "beta": "192.0.2.2", "gamma": "192.0.2.3"}
	lookup := func(_ context.Context, host string) (string, error) {
		return host + " is " + addresses[host], nil
	}
	found := stage.Map(stage.Of("alpha", "beta", "gamma"), 4, lookup)
	stage.ForEach(context.Background(), found, 1, func(_ context.Context, s string) error {
		fmt.Println(s)
		return nil
	})
	// Unordered output:
	// alpha is 192.0.2.1
	// beta is 192.0.2.2
	// gamma is 192.0.2.3
}

// With Inline the function runs where the items are read: for what costs less
// than to hand an item over. The order stays.
func ExampleMap_inline() {
	numbers := stage.Map(stage.Of("4", "8", "x", "16"), stage.Inline, func(_ context.Context, s string) (int, error) {
		return strconv.Atoi(s)
	})
	for v, err := range numbers.Seq(context.Background()) {
		fmt.Println(v, err)
	}
	// Output:
	// 4 <nil>
	// 8 <nil>
	// 0 strconv.Atoi: parsing "x": invalid syntax
}

func ExampleFilter() {
	reachable := func(_ context.Context, host string) (bool, error) {
		return !strings.HasPrefix(host, "old-"), nil
	}
	up := stage.Filter(stage.Of("web1", "old-web1", "web2"), 3, reachable)
	stage.ForEach(context.Background(), up, 1, func(_ context.Context, host string) error {
		fmt.Println(host)
		return nil
	})
	// Unordered output:
	// web1
	// web2
}

// To test and to convert is often one step: here, what has a host, and which.
func ExampleFilterMap() {
	links := stage.Of("https://example.org/a", "/about", "https://example.net/b")
	hosts := stage.FilterMap(links, stage.Inline, func(_ context.Context, link string) (string, bool, error) {
		u, err := url.Parse(link)
		if err != nil {
			return "", false, err
		}
		return u.Host, u.Host != "", nil
	})
	fmt.Println(stage.Collect(context.Background(), hosts))
	// Output: [example.org example.net] <nil>
}

// What is missing is left out; any other error goes on, and ends the run.
func ExampleCatch() {
	files := map[string]string{"a": "1 KiB", "c": "7 KiB"}
	read := func(_ context.Context, name string) (string, error) {
		if size, ok := files[name]; ok {
			return size, nil
		}
		return "", fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	sizes := stage.Map(stage.Of("a", "b", "c"), stage.Inline, read)
	there := stage.Catch(sizes, stage.Inline, func(_ context.Context, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	fmt.Println(stage.Collect(context.Background(), there))
	// Output: [1 KiB 7 KiB] <nil>
}

// Each folder is listed as a stream of its own, two folders at a time.
func ExampleFlatMap() {
	folders := map[string][]string{"img": {"a.png", "b.png"}, "txt": {"c.md"}}
	list := func(_ context.Context, folder string) stage.Stream[string] {
		return stage.FromSlice(folders[folder])
	}
	files := stage.FlatMap(stage.Of("img", "txt"), 2, list)
	stage.ForEach(context.Background(), files, 1, func(_ context.Context, file string) error {
		fmt.Println(file)
		return nil
	})
	// Unordered output:
	// a.png
	// b.png
	// c.md
}
