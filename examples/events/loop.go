package main

import "context"

// loop is the job in one goroutine.
func loop(ctx context.Context, c config, events []*Event, path string) (done, error) {
	store, err := createStore(path, len(events))
	if err != nil {
		return done{}, err
	}
	const look = 1 << 12 // events between two looks at ctx
	for i, e := range events {
		if i%look == 0 && ctx.Err() != nil {
			break
		}
		store.records[i] = process(ctx, e, c.work)
	}
	return done{0, store.close}, context.Cause(ctx)
}
