package stage

// Merge emits the items of all streams as they come, and ends when all have
// ended; each is closed when it has ended itself. Each stream has a goroutine
// of its own that holds at most two chunks of what the reader asks for at a
// time: one item each while it is slow. Merge of nothing is empty.
func Merge[T any](ins ...Stream[T]) Stream[T] {
	if len(ins) == 0 {
		return Stream[T]{}
	}
	if len(ins) == 1 {
		return ins[0]
	}
	return New(func(s *Scope) Reader[T] {
		m := &mergeReader[T]{sub: s.Child()}
		for _, in := range ins {
			m.ups = append(m.ups, Open(m.sub, in))
		}
		m.name = s.Label("", "merge")
		m.fan = newFan[T](s, m.sub, m.name, AnyOrder)
		return m
	})
}

type mergeReader[T any] struct {
	fan   *fan[T]
	sub   *Scope
	name  string
	ups   []Reader[T]
	pumps crew
	begun bool
}

func (m *mergeReader[T]) Next(dst []Try[T]) int {
	if !m.begun && !m.sub.Stopped() {
		m.begun = true
		m.fan.ended = true
		m.fan.room = min(len(dst), maxGrain)
		m.fan.open = len(m.ups)
		for _, up := range m.ups {
			l := &lane[T]{}
			l.wait = m.sub.NewWaiter(m.name, func() string { return "holds an item that its reader does not take" })
			m.pumps.add()
			m.sub.Go(m.name, func() {
				defer m.pumps.done()
				defer l.wait.Free()
				m.pump(l, up)
			})
		}
	}
	return m.fan.Next(dst)
}

// pump brings up's items into l.
func (m *mergeReader[T]) pump(l *lane[T], up Reader[T]) {
	for {
		k := up.Next(m.fan.chunk(l))
		if _, ok := m.fan.put(l, k, k == 0); !ok {
			return
		}
		if k == 0 {
			up.Close()
			return
		}
	}
}

func (m *mergeReader[T]) Close() {
	m.sub.Cancel(ErrClosed)
	if m.pumps.wait(m.sub.run) {
		for _, up := range m.ups {
			up.Close()
		}
	}
	m.fan.close()
}
