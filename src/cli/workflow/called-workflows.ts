// Finds the workflows that a workflow calls: files that --workflow names, files beside the workflow, and bundled examples.
import { basename, join, resolve } from 'node:path'
import { type CompilationResult, compileGraph, isRunnable, type Plan } from '../../engine/compile/compiler.ts'
import type { Graph } from '../../engine/compile/graph.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeRegistry } from '../../engine/node-api/node-type.ts'
import { didYouMeanTool } from '../../workflows/did-you-mean.ts'
import { loadExamples } from '../../workflows/examples.ts'
import { parseNodeCallGraph } from '../../workflows/tools/node-call-graph.ts'
import { type InputReader, STDIN_PATH } from '../shared/input-reader.ts'
import { isPathInside } from '../shared/path-containment.ts'
import { CommandError, EXIT_CODES, UsageError } from '../shared/terminal.ts'
import { compileGraphFully } from './graph-compilation.ts'
import { parseWorkflowFile } from './workflow-file.ts'

/** A runnable workflow with its name and description. */
export interface CalledWorkflow {
  readonly name: string
  readonly description: string
  readonly plan: Plan
}

export interface CalledWorkflows {
  /** @throws NodeError */
  workflow(workflow_id: string): Promise<CalledWorkflow>
  /** The plan of a called workflow, or of a node type that is a tool of an agent. @throws NodeError */
  plan(workflow_id: string): Promise<Plan>
}

/**
 * Finds the workflow of an id in a `workflow.Call`, in this order: the file of `--workflow id=FILE`; for an id with `./`, a file in the folder of the
 * running workflow, or below; a bundled example.
 * @throws CommandError if a named file cannot be used
 */
export async function resolveCalledWorkflows(
  named: readonly string[],
  folder: string,
  registry: NodeRegistry,
  reader: InputReader,
): Promise<CalledWorkflows> {
  const found = new Map<string, Promise<CalledWorkflow>>()
  for (const one of named) {
    const at = one.indexOf('=')
    if (at < 1 || at === one.length - 1) throw new UsageError(`--workflow takes id=FILE, not "${one}"`)
    const id = one.slice(0, at)
    if (found.has(id)) throw new UsageError(`--workflow ${id} is given twice`)
    found.set(id, Promise.resolve(await readCalledWorkflow(one.slice(at + 1), registry, reader)))
  }
  const workflow = (id: string): Promise<CalledWorkflow> => {
    const known = found.get(id)
    if (known) return known
    const called = findCalledWorkflow(id, folder, registry, reader)
    found.set(id, called)
    // The run itself may produce a name, so failed lookups are not kept.
    called.catch(() => found.delete(id))
    return called
  }
  return {
    workflow,
    async plan(id) {
      const tool = parseNodeCallGraph(id)
      return tool ? requireRunnablePlan(compileGraph(tool, registry), 'the tool') : (await workflow(id)).plan
    },
  }
}

async function findCalledWorkflow(
  id: string,
  folder: string,
  registry: NodeRegistry,
  reader: InputReader,
): Promise<CalledWorkflow> {
  try {
    if (id.startsWith('./')) return await readCalledWorkflow(await resolveInsideFolder(folder, id), registry, reader)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    throw new NodeError(`The workflow "${id}" cannot be called: ${error.message}.`, 'workflow_unusable')
  }
  const example = loadExamples().get(id)
  if (example) return { ...example, plan: await compileRunnablePlan(example.graph, id, registry) }
  const message = `There is no workflow "${id}" here.${didYouMeanTool(registry, id)} Name its file: --workflow ${id}=FILE.`
  throw new NodeError(message, 'workflow_not_found')
}

/** A workflow may name files beside it, but no other files of the user, not even by a link. */
async function resolveInsideFolder(folder: string, id: string): Promise<string> {
  const path = join(folder, id)
  if (await isPathInside(resolve(path), resolve(folder))) return path
  throw new CommandError(
    EXIT_CODES.invalid,
    `it lies outside of the folder of the workflow that is run; --workflow can name it`,
  )
}

async function readCalledWorkflow(path: string, registry: NodeRegistry, reader: InputReader): Promise<CalledWorkflow> {
  if (path === STDIN_PATH) throw new UsageError('--workflow takes a file, not standard input')
  const { graph, title, description } = parseWorkflowFile(await reader.json(path), path)
  return { name: title ?? basename(path, '.json'), description, plan: await compileRunnablePlan(graph, path, registry) }
}

async function compileRunnablePlan(graph: Graph, name: string, registry: NodeRegistry): Promise<Plan> {
  return requireRunnablePlan(await compileGraphFully(graph, registry), name)
}

function requireRunnablePlan(compiled: CompilationResult, name: string): Plan {
  if (isRunnable(compiled)) return compiled.plan
  const errors = compiled.issues.filter((issue) => issue.severity === 'error')
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more; svc validate lists them)` : ''
  throw new CommandError(EXIT_CODES.invalid, `${name} cannot run: ${errors[0]?.message}${more}`)
}
