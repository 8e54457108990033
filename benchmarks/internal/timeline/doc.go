// Package timeline is what a benchmark saw, in order: one Reading after another, the changes between them, and what they
// come to. It is pure: readings come in with their own time, tables, plots and verdicts are made from what is kept here.
//
// A change is reported once, when two readings differ. What is compared is what is in force, not what was wished for: the
// CPU request that kubelet says it has applied, the loaders that the job says it runs with, the category that the
// coordinator has published.
package timeline
