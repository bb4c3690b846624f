//go:build !windows

package sink

import "syscall"

// errQuota: the user has no more room on a disk that has.
const errQuota = syscall.EDQUOT
