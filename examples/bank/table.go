package main

import (
	"fmt"
	"strings"
	"time"
)

// How much the table shows.
const shownLanes, shownAccounts = 5, 5

// table is how the bank is doing, at a glance.
func (k *keeper) table(time.Duration) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.past) == 0 {
		return nil
	}
	l := &k.past[len(k.past)-1]
	s := &l.stats
	all := k.cfg.operations
	const width = 30
	filled := width * k.told.count() / all
	lines := []string{
		fmt.Sprintf("%s%s %s of %s operations, %.0f/s", strings.Repeat("█", filled), strings.Repeat("░", width-filled),
			thousands(k.told.count()), thousands(all), float64(l.acked)/max(time.Since(l.started).Seconds(), 1e-3)),
		fmt.Sprintf("life %d of %d, process %d: %d owners, epoch %d; %d operations under way, of %d at most",
			len(k.past), k.cfg.crashes+1, l.pid, s.Owners, s.Epoch, s.Admitted, s.Window),
		fmt.Sprintf("%.0f %% over two accounts; %.1f operations a commit", 100*s.Atomically, s.PerCommit),
		"",
		fmt.Sprintf("%-32s    %s", "account   share  lane      balance", "   lane  keys  depth   ops/s     wait"),
	}
	for i := range max(shownLanes, shownAccounts) {
		left, right := "", ""
		if i < len(s.Hottest) {
			h := s.Hottest[i]
			left = fmt.Sprintf("%7d  %4.1f %%  %4d  %11v", h.Account, 100*h.Share, h.Lane, h.Balance)
		}
		if i < len(s.Lanes) {
			r := s.Lanes[i]
			right = fmt.Sprintf("%7d  %4d  %5d  %6.0f  %7v", r.Lane, r.Keys, r.Depth, r.Rate, r.Wait.Round(10*time.Microsecond))
		}
		lines = append(lines, fmt.Sprintf("%-34s  %s", left, right))
	}
	return lines
}

// report is what has come of it all.
func (k *keeper) report(b *books) string {
	var w strings.Builder
	for i, l := range k.past {
		fmt.Fprintf(&w, "life %d: ", i+1)
		if l.known > 0 {
			fmt.Fprintf(&w, "found %s in the database, ", thousands(l.known))
			if l.untold > 0 {
				fmt.Fprintf(&w, "%s of them committed and not acknowledged before the crash, ", thousands(l.untold))
			}
		}
		fmt.Fprintf(&w, "acknowledged %s in %.2f s", plural(l.acked, "operation"), l.took.Seconds())
		if l.resized > 0 {
			fmt.Fprintf(&w, ", %d owners became %d", k.cfg.owners, l.resized)
		}
		if l.killed {
			w.WriteString(", was killed")
		}
		w.WriteByte('\n')
	}
	fmt.Fprintf(&w, "%s, %s, %d refused, of %s\n", plural(b.deposits, "deposit"), plural(b.transfers, "transfer"), b.refused, plural(k.cfg.operations, "operation"))
	fmt.Fprintf(&w, "%v at first + %v deposited = %v; the balances add up to %v\n",
		money(k.cfg.accounts)*opening, b.deposited, b.wants(k.cfg.plan), b.sum)
	if len(b.wrong) == 0 {
		fmt.Fprintf(&w, "each operation that was acknowledged is there once; %s, in order on each page\n", pluralEntries(b.entries))
		return w.String()
	}
	const shown = 10
	for _, s := range b.wrong[:min(len(b.wrong), shown)] {
		fmt.Fprintf(&w, "WRONG: %s\n", s)
	}
	if more := len(b.wrong) - shown; more > 0 {
		fmt.Fprintf(&w, "and %s more\n", thousands(more))
	}
	return w.String()
}

func pluralEntries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return thousands(n) + " entries"
}
