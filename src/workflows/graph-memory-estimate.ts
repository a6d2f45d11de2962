// Estimates the memory of a graph: its text and values, its compiled form, and what a run keeps for its nodes.
import type { Steps } from '../shared/time-slices.ts'

/** Measured bytes of memory: a node takes about 800 in its compiled form and 620 while it waits in a run; an edge takes up to 760. */
const NODE_BYTES = 1_500
const EDGE_BYTES = 800
/** What nodes and edges take in addition while they are compiled, as a fraction. */
const COMPILATION_OVERHEAD = 0.25
/** Bytes of a character at most, in the text and again in the values. */
const CHARACTER_BYTES = 2
/** Bytes of a list or an object, and of each of their members. */
const CONTAINER_BYTES = 64
const MEMBER_BYTES = 8

/** Characters of one step. */
const CHARACTERS_PER_STEP = 65_536

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPENING_LIST = 0x5b
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d

const EDGES = '"edges":'
/** The nesting depth of a node or an edge. */
const ELEMENT_DEPTH = 2

/** Bytes. */
export interface GraphMemoryEstimate {
  /** What a graph with its compiled form takes. */
  readonly retained_bytes: number
  /** What it takes during compilation. */
  readonly peak_bytes: number
}

/** Estimates from the JSON text of a graph, before it is parsed. */
export function* estimateGraphMemorySteps(body: string): Steps<GraphMemoryEstimate> {
  const { nodes, edges, containers, members } = yield* countContentsSteps(body)
  const values = containers * CONTAINER_BYTES + members * MEMBER_BYTES + 2 * CHARACTER_BYTES * body.length
  const compiled = nodes * NODE_BYTES + edges * EDGE_BYTES
  return { retained_bytes: values + compiled, peak_bytes: values + compiled * (1 + COMPILATION_OVERHEAD) }
}

interface GraphContents {
  nodes: number
  edges: number
  containers: number
  members: number
}

/** The text has to come from `JSON.stringify`. */
function* countContentsSteps(body: string): Steps<GraphContents> {
  const found = { nodes: 0, edges: 0, containers: 0, members: 0 }
  let [isText, isEdge, depth] = [false, false, 0]
  for (let at = 0, until = CHARACTERS_PER_STEP; at < body.length; at++) {
    if (at >= until) {
      until = at + CHARACTERS_PER_STEP
      yield
    }
    const code = body.charCodeAt(at)
    if (code === QUOTE) isText = !isText
    else if (isText) at += code === BACKSLASH ? 1 : 0
    else if (code === COMMA) found.members++
    else if (code === CLOSING_LIST || code === CLOSING_OBJECT) depth--
    else if (code === OPENING_LIST || code === OPENING_OBJECT) {
      if (depth === ELEMENT_DEPTH) found[isEdge ? 'edges' : 'nodes']++
      if (++depth === ELEMENT_DEPTH) isEdge = body.startsWith(EDGES, at - EDGES.length)
      found.containers++
    }
  }
  return found
}
