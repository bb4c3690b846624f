package keyed

import "errors"

// ErrClosed is returned by the methods of [Owners] for what was not admitted
// because Close had been called: it has not run and never will.
var ErrClosed = errors.New("keyed: owners closed")
