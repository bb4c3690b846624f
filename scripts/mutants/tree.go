package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tree is a copy of the project that may be spoiled.
type tree struct{ dir string }

// copyTree copies what is or would be committed of the project at root.
func copyTree(root string) (tree, error) {
	list := exec.Command("git", "ls-files", "-coz", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return tree{}, fmt.Errorf("git ls-files: %w", err)
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return tree{}, err
	}
	t := tree{dir}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // deleted, and not yet committed
			continue
		}
		if err == nil {
			err = t.write(name, string(text))
		}
		if err != nil {
			t.remove()
			return tree{}, err
		}
	}
	return t, nil
}

func (t tree) remove() { os.RemoveAll(t.dir) }

func (t tree) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(t.dir, name))
	return string(text), err
}

func (t tree) write(name, text string) error {
	path := filepath.Join(t.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// verdict is what a run of tests says.
type verdict int

const (
	passed verdict = iota
	failed
	hung
	broken // it does not compile, or the tests could not be run
)

// test runs go test with the arguments of a list, in the tree.
func (t tree) test(args string, timeout time.Duration) (verdict, string) {
	const grace = 2 * time.Minute // to compile, and to print the stacks
	ctx, cancel := context.WithTimeout(context.Background(), timeout+grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf("exec go test -timeout %v %s", timeout, args))
	cmd.Dir = t.dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") || strings.Contains(text, "no packages to test"):
		return broken, text
	case strings.Contains(text, "[no tests to run]") && err == nil:
		return broken, text
	case strings.Contains(text, "panic: test timed out") || ctx.Err() != nil:
		return hung, text
	case err == nil:
		return passed, text
	case strings.Contains(text, "FAIL"):
		return failed, text
	}
	return broken, text
}
