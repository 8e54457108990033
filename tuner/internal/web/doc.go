// Package web serves the tuner's dashboard: the API of package api, and a page that displays it live. Probes and
// metrics have a separate listener.
//
// It is read-only. Requests are bounded in size and time, watches in rate and number, and slow readers are
// disconnected. While the bus is unavailable, the last state is served together with the error,
// because an outdated dashboard is better than none.
package web
