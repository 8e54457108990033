// Package torchloader reads workloads of torchloader (A-Dloader, IEEE CLOUD 2022): data-parallel training jobs with the devices
// and data loaders of each.
//
// The columns of a file are
//
//	arch, depth          the model: vgg and 13, resnet and 18; depth may be empty
//	batch                samples per iteration, over all nodes
//	workers              data loaders, over all nodes
//	output_folder        not used here
//	master               address of the first node; missing on a single node
//	port                 TCP port of the first node
//	arrival_time         seconds from the start; an older form has submit_interval, the seconds after the previous job
//	cuda_device          the devices of each node, see below
//	start_iter, start_epoch, end_iter, end_epoch
//	                     the job begins and ends at these iterations of these epochs of ImageNet
//	node_size            the number of nodes; missing on a single node
//
// cuda_device has three forms:
//
//	["0 1" "0 1"]        the devices of two nodes, which have no names
//	{'d3091':[0 1]}      the devices of a named node
//	0 1                  the devices of the only node
//
// Quotes are single or double. Spaces and commas separate devices and nodes. torchloader itself evaluates the field as a program
// and fails on the first form.
//
// The parser is strict and bounded. Errors name the line and the column.
package torchloader
