package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// asBank is set in the environment of the process that has the bank.
const asBank = "SLUICE_EXAMPLE_BANK"

// A keeper looks after the process that has the bank.
type keeper struct {
	cfg  config
	env  environment
	scr  *program.Screen
	told *told

	mu   sync.Mutex // what the table shows
	past []life     // the present one is the last
}

// A life is one process with the bank.
type life struct {
	pid     int
	known   int // operations that it found
	untold  int // of these, committed before a crash, and not acknowledged
	acked   int
	started time.Time // with the first operation
	took    time.Duration
	resized int // to so many owners
	killed  bool
	stats   stats
}

// lives has the bank live as often as it is to be killed, and once more.
func (k *keeper) lives(ctx context.Context) error {
	for crashes := k.cfg.crashes; crashes >= 0 && !program.Closed(k.env.stop); crashes-- {
		l, err := k.live(ctx, crashes)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case l.killed:
			k.scr.Note("killed process %d after %s of %s operations; another one takes over",
				l.pid, thousands(k.told.count()), thousands(k.cfg.operations))
		default:
			return nil
		}
	}
	return nil
}

// live starts a process with the bank, hears what it says, and kills it when its part
// is done if there are crashes to come.
func (k *keeper) live(ctx context.Context, crashes int) (life, error) {
	exe, err := os.Executable()
	if err != nil {
		return life{}, err
	}
	cmd := exec.Command(exe, k.cfg.args()...)
	cmd.Env = append(os.Environ(), asBank+"=1")
	cmd.SysProcAttr = ownGroup()
	cmd.Stderr = k.scr.Over(k.env.stderr)
	lifeline, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return life{}, err
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	quit := make(chan struct{})
	var helper sync.WaitGroup
	helper.Go(func() {
		select {
		case <-k.env.stop:
			lifeline.Close()
		case <-quit:
		}
	})
	k.update(func() { k.past = append(k.past, life{pid: cmd.Process.Pid, started: time.Now()}) })
	failed := k.hear(out, crashes, func() { cmd.Process.Kill() }, lifeline)
	close(quit)
	helper.Wait()
	lifeline.Close()
	if failed != nil {
		cmd.Process.Kill() // in case it is not at its end
	}
	ended := cmd.Wait()
	k.update(func() {
		l := &k.past[len(k.past)-1]
		l.took = time.Since(l.started)
	})
	l := k.past[len(k.past)-1]
	switch {
	case failed != nil:
		return l, failed
	case ended != nil && !l.killed:
		return l, fmt.Errorf("the process with the bank ended by itself: %w", ended)
	}
	return l, nil
}

// hear reads what the process says, to the end of that.
func (k *keeper) hear(out io.Reader, crashes int, kill func(), lifeline io.Closer) error {
	r := bufio.NewReader(out)
	killAt, finished := 0, false
	for {
		line, err := r.ReadBytes('\n')
		if err != nil { // a line that has no end was cut off by the crash
			return nil
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("the process with the bank says %.40q: %w", line, err)
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
		k.update(func() {
			l := &k.past[len(k.past)-1]
			for _, code := range m.Known {
				number, o := decoded(code)
				l.known++
				if k.told.know(number, o) && len(k.past) > 1 {
					l.untold++
				}
			}
			for _, code := range m.Acks {
				number, o := decoded(code)
				k.told.ack(number, o)
				l.acked++
			}
			if m.Left != nil {
				l.started = time.Now()
				if crashes > 0 && *m.Left > 0 {
					killAt = max(1, *m.Left/(crashes+1))
				}
			}
			if m.Resized > 0 {
				l.resized = m.Resized
			}
			if m.Stats != nil {
				l.stats = *m.Stats
			}
			if killAt > 0 && l.acked >= killAt && !l.killed {
				l.killed = true
				kill()
			}
		})
		if finished && len(m.Acks) > 0 {
			return errors.New("the process with the bank acknowledges more when it is done")
		}
		finished = finished || m.Done
		if m.Done && killAt == 0 {
			lifeline.Close()
		}
	}
}

// update changes what the table shows.
func (k *keeper) update(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
}
