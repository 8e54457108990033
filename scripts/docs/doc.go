// Command docs writes the reference pages below docs/reference, and checks the documentation.
//
//	flags.md        from the --help of each program
//	annotations.md  from the constants of growth/gpushare and the cases of the admission policies
//	metrics.md      from the calls that create Prometheus metrics
//	packages.md     from the imports and the package comments
//	events.md       from the calls that record Kubernetes events, explained by the table in eventtable.go
//
// It also writes the table of results in README.md, and the chart there, from the figures in benchmarks/measured.
//
// Metrics and events are read from the syntax trees of the source, so that a metric without help, an event without an
// explanation, and an explanation without an event are errors. Metrics that a test or an emulation creates do not count.
//
// With -check it writes nothing. It fails if a page is out of date, if a link between the documents leads nowhere, or if
// a command in a block cannot run as printed: each make target, script, file, flag, workload and
// container that it names must exist. So must each annotation, metric and test that a document names.
package main
