// Package stage has streams: their sources, transforms and terminals.
package stage
