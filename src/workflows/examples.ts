// Loads the bundled example workflows: one JSON file each, read at the first use.
import { readdirSync, readFileSync } from 'node:fs'
import type { ExampleWorkflow } from '../../generated/types.ts'
import type { Graph } from '../engine/compile/graph.ts'

/**
 * The file of an example. `outputs` is the result of a run with `params`, and with a `url` if it asks a server. Files in `outputs` are
 * given by their facts and a digest, images by a digest of their pixels. Tests verify the outputs.
 */
export interface BundledExample {
  id: string
  name: string
  description: string
  tags: string[]
  run_mode: 'workflow' | 'chat' | 'app'
  graph: Graph
  params: Record<string, unknown>
  outputs: Record<string, unknown>
}

/** Returns the members that an example shares with every other workflow, except the graph. */
export function toExampleHead({ id, name, description, tags, run_mode }: BundledExample) {
  return { id, name, description, tags, run_mode }
}

/** Returns an example as lists show it. */
export function toExampleListItem(example: BundledExample) {
  return { ...toExampleHead(example), params: example.params }
}

/** Returns the whole example, except for the schemas that are derived from its graph. */
export function toExampleRecord(example: BundledExample) {
  return { ...toExampleListItem(example), graph: example.graph as ExampleWorkflow['graph'] }
}

const FOLDER = new URL('./examples/', import.meta.url)
let cachedExamples: ReadonlyMap<string, BundledExample> | null = null

/** Returns every example by id, in the order of the ids. */
export function loadExamples(): ReadonlyMap<string, BundledExample> {
  cachedExamples ??= readExamples()
  return cachedExamples
}

function readExamples(): ReadonlyMap<string, BundledExample> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'))
  return new Map(
    files.sort().map((file) => {
      const example = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as BundledExample
      return [example.id, example]
    }),
  )
}
