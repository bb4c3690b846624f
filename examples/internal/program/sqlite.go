package program

import (
	"net/url"
	"path/filepath"
	"strings"
)

// SQLiteSource names a database file to the driver, with its parameters. Characters
// of the path that mean something in a URI are escaped.
func SQLiteSource(name, parameters string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	path := filepath.ToSlash(name)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + parameters
}
