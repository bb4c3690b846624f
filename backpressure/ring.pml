/*
 * The ring with parking: conduit_ring.go, over spsc.go and wait.go.
 *
 * One sender, one receiver, and one who closes at any moment. Checked: values come out
 * in order and none twice; what the sender has counted is what the receiver gets before
 * it is told of the end; nobody sleeps for ever (no invalid end state).
 *
 * Variants that must fail: -DBUG=1 no second look after arming, -DBUG=2 the wake-up comes
 * before the change, -DBUG=3 the push does not mind that it has been closed meanwhile,
 * -DBUG=4 the receiver asks whether it is closed after it has looked.
 */

#ifndef BUG
#define BUG 0
#endif
#define CAP   2
#define TOTAL 4

#define IDLE  0
#define ARMED 1
#define WOKEN 2

byte head, tail;    /* cursors; tail's closed bit is a variable of its own, changed in one step with it */
bool closed;
byte slot[CAP];

byte state[2];      /* of the waiters: 0 the sender's, 1 the receiver's */
chan wakeup0 = [1] of { bit };
chan wakeup1 = [1] of { bit };

byte sent, got;
bool told;          /* the receiver has been told of the end */

inline wake(who, ch) {
	if
	:: atomic { state[who] == ARMED -> state[who] = WOKEN }; ch ! 1
	:: else
	fi
}

inline disarm(who, ch) {
	if
	:: atomic { state[who] == ARMED -> state[who] = IDLE }
	:: else -> ch ? _; state[who] = IDLE
	fi
}

/* push puts v in, and sets done; TrySend with its wake-up. */
inline push(v) {
	t = tail;
	done = false;
	if
	:: closed || t - head == CAP -> skip
	:: else ->
		slot[t % CAP] = v;
#if BUG == 2
		wake(1, wakeup1);
#endif
		if
#if BUG == 3
		:: tail = t + 1; done = true
#else
		:: atomic { !closed -> tail = t + 1; done = true } /* the compare-and-swap */
		:: closed
#endif
		fi;
#if BUG != 2
		if
		:: done -> wake(1, wakeup1)
		:: else
		fi
#endif
	fi
}

proctype sender() {
	byte t;
	bool done;
	do
	:: sent == TOTAL -> break
	:: else ->
		push(sent + 1);
		if
		:: done -> sent++
		:: !done && closed -> break
		:: else -> /* await */
			state[0] = ARMED;
#if BUG != 1
			if
			:: closed || tail - head < CAP -> disarm(0, wakeup0)
			:: else -> wakeup0 ? _; state[0] = IDLE
			fi
#else
			wakeup0 ? _; state[0] = IDLE
#endif
		fi
	od
}

proctype receiver() {
	byte h, v;
	bool over;
	do
	:: 
#if BUG != 4
		over = closed; /* before looking */
#endif
		h = head;
		if
		:: tail != h ->
			v = slot[h % CAP];
			assert(v == got + 1);
			slot[h % CAP] = 0;
			got++;
			head = h + 1;
			wake(0, wakeup0)
		:: else ->
#if BUG == 4
			over = closed;
#endif
			if
			:: over -> told = true; break
			:: else ->
				state[1] = ARMED;
				if
				:: closed || tail != head -> disarm(1, wakeup1)
				:: else -> wakeup1 ? _; state[1] = IDLE
				fi
			fi
		fi
	od
}

proctype closer() {
	if
	:: true                   /* at any moment */
	:: true -> (got == TOTAL) /* at the end: until then nobody is woken by it */
	fi;
	closed = true;
	wake(1, wakeup1);
	wake(0, wakeup0)
}

init {
	atomic { run sender(); run receiver(); run closer() };
	_nr_pr == 1 -> /* all have ended: nobody sleeps on */
	assert(told && sent == got && head == tail)
}
