// Package ordered has the transforms that keep the order of their input.
package ordered
