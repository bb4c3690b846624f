//go:build unix

package main

import "syscall"

// ownGroup has a process started in a group of its own: the keys of the terminal that
// interrupt a program are not for it, not even before it can say that it ignores them.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
