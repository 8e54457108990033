// Package slotsocket creates the Unix sockets that jobs connect to, one in the folder of each slot, and accepts connections.
// The server of the connections decides what they mean.
//
// Jobs are not trusted, and can change their slot. A socket is created in a private folder, where its mode is changed to
// 0666, and then renamed into the slot. In the slot, a job could replace the socket by a link before the change of mode, and
// make a file of the host accessible to all users. A job that removes its socket gets another one.
//
// The kernel bounds the path of a socket to 107 bytes. That of a slot may be longer: a job has it in a folder with a short path.
//
// A slot may open as many connections at once as its job may have processes, and then a few each second.
package slotsocket
