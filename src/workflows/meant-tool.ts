// What was meant by an id that no workflow has, where a tool of an agent is to be: a bundled example, or a node type that is written otherwise.
import type { NodeRegistry } from '../engine/node-type.ts'
import { knownTypes, nearest } from '../engine/suggest.ts'
import { examples } from './examples.ts'

/** ` Did you mean …?`, or nothing where nothing is near. */
export function meantTool(registry: NodeRegistry, id: string): string {
  const near = nearest(id, examples().keys())
  return near === null ? knownTypes(registry).hint(id) : ` Did you mean the example "${near}"?`
}
