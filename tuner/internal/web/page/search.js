"use strict";

// The most jobs and nodes that the page shows: a browser lays out no thousand rows twice a second.
const MOST_JOBS = 200, MOST_NODES = 60;

// textOf is what a search looks at: the names of a job and of its pods, its nodes and GPUs, its category, and the status of its deadline.
function textOf({ sample, pods }) {
  const of = [sample, ...(pods || [])].flatMap(({ pod, node, gpus }) => [`${pod.namespace}/${pod.name}`, node, ...(gpus || [])]);
  const state = [sample.category, sample.paused && "paused", sample.deadline && sample.deadline.status];
  return [...of, ...state].filter(Boolean).join("\n").toLowerCase();
}

// find returns the jobs that have each word of a text, and the nodes that do or that run one of these jobs, up to the most that are shown
// of each. Without a text, that is all of them.
function find(state, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = text => words.every(word => text.includes(word));
  const whole = state.jobs.filter(job => !job.partOf);
  const jobs = whole.filter(job => has(textOf(job)));
  const used = new Set(jobs.flatMap(({ sample, pods }) => [sample, ...(pods || [])].map(pod => pod.node)));
  const nodes = state.nodes.filter(({ node }) => has(node.toLowerCase()) || used.has(node));
  return {
    jobs: jobs.slice(0, MOST_JOBS), nodes: nodes.slice(0, MOST_NODES),
    foundJobs: jobs.length, foundNodes: nodes.length, allJobs: whole.length, allNodes: state.nodes.length,
  };
}
