// What was meant by an id that no workflow has: a bundled example, or where a tool of an agent is to be, a node type that is written otherwise.
import type { NodeRegistry } from '../engine/node-type.ts'
import { knownTypes, nearest } from '../engine/suggest.ts'
import { examples } from './examples.ts'

/** ` Did you mean the example …?`, or nothing where none is near. */
export function meantExample(id: string): string {
  const near = nearest(id, examples().keys())
  return near === null ? '' : ` Did you mean the example "${near}"?`
}

/** ` Did you mean …?`, or nothing where nothing is near. */
export function meantTool(registry: NodeRegistry, id: string): string {
  return meantExample(id) || knownTypes(registry).hint(id)
}
