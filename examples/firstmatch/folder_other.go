//go:build !linux

package main

import "errors"

var theSystem system = plainSystem{}

// No handle has a plain descriptor here.

func readFD(int, []byte) (int, error) { return 0, errors.ErrUnsupported }
func sizeOfFD(int) (int64, error)     { return 0, errors.ErrUnsupported }
func closeFD(int)                     {}
