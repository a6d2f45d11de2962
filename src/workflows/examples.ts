// The bundled example workflows: one JSON file each, read when they are first asked for.
import { readdirSync, readFileSync } from 'node:fs'
import type { ExampleWorkflow } from '../../generated/types.ts'
import type { Graph } from '../engine/compile/graph.ts'

/**
 * An example as its file holds it. `outputs` is what a run with `params` gives, and with a `url` where it asks a server; files
 * in it are their facts and a digest, of pictures that of their pixels. Tests prove it.
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

/** What an example has in common with every other workflow, but for its graph. */
export function toExampleHead({ id, name, description, tags, run_mode }: BundledExample) {
  return { id, name, description, tags, run_mode }
}

/** An example as lists show it. */
export function toExampleListItem(example: BundledExample) {
  return { ...toExampleHead(example), params: example.params }
}

/** An example in full, but for the schemas that follow from its graph. */
export function toExampleRecord(example: BundledExample) {
  return { ...toExampleListItem(example), graph: example.graph as ExampleWorkflow['graph'] }
}

const FOLDER = new URL('./examples/', import.meta.url)
let cachedExamples: ReadonlyMap<string, BundledExample> | null = null

/** Every example by id, in the order of their ids. */
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
