package measure

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine says where and when a measurement was made.
type Machine struct {
	CPU, OS, Go, Commit, Date string
	Cores, Procs              int // CPUs that Go sees, GOMAXPROCS
}

// Here describes this machine and the commit in the current folder. What
// cannot be found out is "unknown".
func Here() Machine {
	return Machine{
		CPU:    cpuModel(),
		OS:     osName(),
		Go:     runtime.Version(),
		Commit: commit(),
		Date:   time.Now().UTC().Format(time.DateOnly),
		Cores:  runtime.NumCPU(),
		Procs:  runtime.GOMAXPROCS(0),
	}
}

const unknown = "unknown"

func cpuModel() string {
	if runtime.GOOS == "darwin" {
		return output("sysctl", "-n", "machdep.cpu.brand_string")
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return unknown + " " + runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown + " " + runtime.GOARCH
}

func osName() string {
	name := runtime.GOOS + "/" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		return name
	}
	return name + ", kernel " + output("uname", "-r")
}

// commit returns the short hash of HEAD, with a word if the tree has changed since.
func commit() string {
	hash := output("git", "rev-parse", "--short", "HEAD")
	if hash == unknown {
		return unknown
	}
	if err := exec.Command("git", "diff", "--quiet", "HEAD").Run(); err != nil {
		return hash + " with changes"
	}
	return hash
}

// output returns the first line of what a command prints, or "unknown".
func output(name string, args ...string) string {
	b, err := exec.Command(name, args...).Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil || line == "" {
		return unknown
	}
	return line
}
