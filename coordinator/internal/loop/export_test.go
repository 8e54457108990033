package loop

// EventOf is the conversion of a job's message to an event of the node.
var EventOf = message
