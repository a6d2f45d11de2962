// About how much memory a graph takes: its text and its values, its compiled form, and what a run keeps for its nodes.
import type { Steps } from '../time-slices.ts'

/** Bytes of memory, measured: about 800 of a node in its compiled form, and 620 while it waits in a run; of an edge up to 760. */
const NODE = 1_500
const EDGE = 800
/** What nodes and edges take besides while they are compiled, as a part of that. */
const MEANWHILE = 0.25
/** Of a character, at the most: in the text, and in the values. */
const CHARACTER = 2
/** Of a list or an object, and of each of their members. */
const CONTAINER = 64
const MEMBER = 8

/** So many characters make a step. */
const SOME = 65_536

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPENING_LIST = 0x5b
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d

const EDGES = '"edges":'
/** How many containers there are around a node or an edge. */
const INSIDE = 2

/** Bytes. */
export interface GraphMemory {
  /** What a graph takes with its compiled form. */
  readonly kept: number
  /** What it takes while it is compiled. */
  readonly meanwhile: number
}

/** Found on the JSON text of a graph, before anything is made of it. */
export function* graphMemory(body: string): Steps<GraphMemory> {
  const { nodes, edges, containers, members } = yield* contentsOf(body)
  const values = containers * CONTAINER + members * MEMBER + 2 * CHARACTER * body.length
  const compiled = nodes * NODE + edges * EDGE
  return { kept: values + compiled, meanwhile: values + compiled * (1 + MEANWHILE) }
}

interface GraphContents {
  nodes: number
  edges: number
  containers: number
  members: number
}

/** As `JSON.stringify` has written it. */
function* contentsOf(body: string): Steps<GraphContents> {
  const found = { nodes: 0, edges: 0, containers: 0, members: 0 }
  let [isText, isEdge, depth] = [false, false, 0]
  for (let at = 0, until = SOME; at < body.length; at++) {
    if (at >= until) {
      until = at + SOME
      yield
    }
    const code = body.charCodeAt(at)
    if (code === QUOTE) isText = !isText
    else if (isText) at += code === BACKSLASH ? 1 : 0
    else if (code === COMMA) found.members++
    else if (code === CLOSING_LIST || code === CLOSING_OBJECT) depth--
    else if (code === OPENING_LIST || code === OPENING_OBJECT) {
      if (depth === INSIDE) found[isEdge ? 'edges' : 'nodes']++
      if (++depth === INSIDE) isEdge = body.startsWith(EDGES, at - EDGES.length)
      found.containers++
    }
  }
  return found
}
