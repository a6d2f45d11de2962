// Opens the workflow of a command: a file, standard input, or a bundled example, and validates its shape as the contract does.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { commandValidators } from '../../../generated/validators.js'
import type { Graph } from '../../engine/compile/graph.ts'
import { findNearest } from '../../engine/node-api/did-you-mean.ts'
import type { Problem } from '../../errors.ts'
import { isRecord } from '../../shared/record.ts'
import { type SchemaKeywordError, toValidationProblems } from '../../shared/validation-problems.ts'
import { loadExamples } from '../../workflows/examples.ts'
import { displayPath, type InputReader, STDIN_PATH } from '../shared/input-reader.ts'
import { CommandError, EXIT_CODES } from '../shared/terminal.ts'

export interface WorkflowFile {
  /** The name in messages: the path, or the id of the example. */
  readonly name: string
  readonly graph: Graph
  /** Parameters of the record for a first run, as the bundled examples have them. */
  readonly params: Readonly<Record<string, unknown>>
  /** The folder of paths such as `./inner.json`. */
  readonly folder: string
}

/**
 * Reads a workflow record (`{"graph": {"nodes", "edges"}, …}`; other members are ignored) or a bare graph.
 * @throws CommandError usage if there is nothing to read, invalid with every problem of its shape
 */
export async function openWorkflowFile(path: string, reader: InputReader): Promise<WorkflowFile> {
  if (path !== STDIN_PATH && !existsSync(path)) return openExample(path)
  const folder = path === STDIN_PATH ? '.' : dirname(path)
  const { graph, params } = parseWorkflowFile(await reader.json(path), displayPath(path))
  return { name: displayPath(path), folder, graph, params }
}

function openExample(id: string): WorkflowFile {
  const found = loadExamples().get(id)
  if (found) return { name: id, graph: found.graph, params: found.params, folder: '.' }
  const near = findNearest(id, loadExamples().keys())
  const advice = near === null ? 'svc examples lists the examples.' : `Did you mean "${near}"?`
  throw new CommandError(EXIT_CODES.usage, `there is no file "${id}", and no example of that name. ${advice}`)
}

export interface WorkflowFileContent extends Pick<WorkflowFile, 'graph' | 'params'> {
  /** The name in the record; null: it has none. */
  readonly title: string | null
  readonly description: string
}

/** The content of a parsed file. @throws CommandError invalid */
export function parseWorkflowFile(value: unknown, name: string): WorkflowFileContent {
  if (!isRecord(value) || !['graph', 'nodes', 'edges'].some((key) => Object.hasOwn(value, key))) {
    const message = `${name} is not a workflow: it needs "nodes" and "edges", or a "graph" that has them`
    throw new CommandError(EXIT_CODES.invalid, message)
  }
  const isBare = !Object.hasOwn(value, 'graph')
  const graph = isBare ? value : value.graph
  const params = isBare ? null : (value.params ?? null)
  const problems = shapeProblems(graph, params).map((one) => ({ ...one, path: pathInFile(one.path, isBare) }))
  if (problems.length > 0) throw new CommandError(EXIT_CODES.invalid, `${name} is not a workflow`, problems)
  const { name: title, description } = isBare ? {} : value
  return {
    graph: graph as Graph,
    params: (params ?? {}) as Record<string, unknown>,
    title: typeof title === 'string' && title !== '' ? title : null,
    description: typeof description === 'string' ? description : '',
  }
}

/** A run over the socket takes a graph and params of the same shape. */
function shapeProblems(graph: unknown, params: unknown): Problem[] {
  const validate = commandValidators.ws.run_job
  // A run may have no graph, or null; a file must have one.
  if (graph === null) return [{ path: '/data/graph', message: 'must be object', code: 'type' }]
  if (validate({ command: 'run_job', data: { graph, params } })) return []
  return toValidationProblems((validate.errors ?? []).filter((error) => !wantsNull(error)))
}

function wantsNull({ keyword, instancePath, params }: SchemaKeywordError): boolean {
  return keyword === 'type' && instancePath === '/data/graph' && params.type === 'null'
}

function pathInFile(path: string, isBare: boolean): string {
  const inData = path.slice('/data'.length)
  return isBare ? inData.slice('/graph'.length) : inData
}
