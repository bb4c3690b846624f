package sink

import "golang.org/x/sys/windows"

// errQuota: what Windows says of a full disk.
const errQuota = windows.ERROR_DISK_FULL
