// Package web is what the tuner shows: the API of package api, a page that displays it live, and, on an address of
// their own, health and metrics.
//
// It only reads. Every request is bounded in size and time, a watch in how often it is told, watches in number. A
// reader that can not keep up is dropped. While the bus is away the last state is served with its error: /readyz says
// so, but stays well, since an old table is what a person wants to see then.
package web
