module github.com/seed95b73fdc/sluice

go 1.26

require github.com/destel/rill v0.8.1

require go.uber.org/goleak v1.3.0
