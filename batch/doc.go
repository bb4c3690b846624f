// Package batch has what works on many items at once.
package batch
