// What was meant by an id that no workflow has: a bundled example, or where a tool of an agent is to be, a node type that is written otherwise.

import { createNodeTypeLookup, findNearest } from '../engine/node-api/did-you-mean.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { loadExamples } from './examples.ts'

/** ` Did you mean the example …?`, or nothing where none is near. */
export function didYouMeanExample(id: string): string {
  const near = findNearest(id, loadExamples().keys())
  return near === null ? '' : ` Did you mean the example "${near}"?`
}

/** ` Did you mean …?`, or nothing where nothing is near. */
export function didYouMeanTool(registry: NodeRegistry, id: string): string {
  return didYouMeanExample(id) || createNodeTypeLookup(registry).hint(id)
}
