module github.com/seed95b73fdc/sluice/bench

go 1.26

require (
	github.com/alitto/pond/v2 v2.7.1
	github.com/destel/rill v0.8.1
	github.com/seed95b73fdc/sluice v0.0.0
	github.com/sourcegraph/conc v0.3.0
	golang.org/x/sync v0.22.0
)

require (
	go.uber.org/atomic v1.7.0 // indirect
	go.uber.org/multierr v1.9.0 // indirect
)

replace github.com/seed95b73fdc/sluice => ../
