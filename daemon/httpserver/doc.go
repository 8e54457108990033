// Package httpserver is an HTTP server with bounded requests and graceful shutdown.
//
// [Listen] opens the port, so that a port in use is an error at start. [Server.Run] serves until [Server.Stop], which
// closes the port first and then waits for the requests in progress.
package httpserver
