// Proposes alternatives for an unknown workflow id: a bundled example, or, for a tool of an agent, a node type with a similar name.

import { createNodeTypeLookup, findNearest } from '../engine/node-api/did-you-mean.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { loadExamples } from './examples.ts'

/** Returns ` Did you mean the example …?`, or an empty text if no example is similar. */
export function didYouMeanExample(id: string): string {
  const near = findNearest(id, loadExamples().keys())
  return near === null ? '' : ` Did you mean the example "${near}"?`
}

/** Returns ` Did you mean …?`, or an empty text if no name is similar. */
export function didYouMeanTool(registry: NodeRegistry, id: string): string {
  return didYouMeanExample(id) || createNodeTypeLookup(registry).hint(id)
}
