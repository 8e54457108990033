// Package numerics is what several models compute with: lines by gonum's regression, with what gonum leaves to its callers, and medians,
// which gonum does not have. Quantiles, means and distributions are gonum's own: package stat and stat/distuv.
package numerics
