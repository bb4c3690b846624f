package program

import (
	"errors"
	"flag"
	"fmt"
)

// ErrUsage says that the flags were wrong, and that the usage has been printed.
var ErrUsage = errors.New("wrong flags")

// Parse parses args, and calls check for what fs alone cannot tell. It returns
// flag.ErrHelp if help was asked for, and ErrUsage if something was wrong; either has
// been explained on the output of fs.
func Parse(fs *flag.FlagSet, args []string, check func() error) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return ErrUsage
	}
	if err := check(); err != nil {
		fmt.Fprintln(fs.Output(), err)
		fs.Usage()
		return ErrUsage
	}
	return nil
}
