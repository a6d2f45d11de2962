// The workflows that a workflow calls: named with --workflow, in files beside it, or bundled.
import { basename, join, resolve } from 'node:path'
import type { Graph } from '../engine/graph.ts'
import { NodeError, type NodeRegistry } from '../engine/node-type.ts'
import { type Compiled, compileGraph, isRunnable, type Plan } from '../engine/plan.ts'
import { examples } from '../workflows/examples.ts'
import { meantTool } from '../workflows/meant-tool.ts'
import { toolGraph } from '../workflows/tool-graph.ts'
import { compileFully } from './compile.ts'
import { liesIn } from './lies-in.ts'
import { type Reader, STDIN } from './read.ts'
import { CommandError, EXIT, UsageError } from './terminal.ts'
import { workflowOf } from './workflow-file.ts'

/** A workflow that can be run, and what it says of itself. */
export interface CalledWorkflow {
  readonly name: string
  readonly description: string
  readonly plan: Plan
}

export interface CalledWorkflows {
  /** @throws NodeError */
  workflow(workflow_id: string): Promise<CalledWorkflow>
  /** The plan of what is called: a workflow, or a node type that an agent has as a tool. @throws NodeError */
  plan(workflow_id: string): Promise<Plan>
}

/**
 * What the name in a `workflow.Call` means, first come: an `--workflow id=FILE`; where it begins with `./`, a file in the folder of
 * the workflow that is run, or below; a bundled example.
 * @throws CommandError where a file that was named cannot be used
 */
export async function calledWorkflows(
  named: readonly string[],
  folder: string,
  registry: NodeRegistry,
  reader: Reader,
): Promise<CalledWorkflows> {
  const found = new Map<string, Promise<CalledWorkflow>>()
  for (const one of named) {
    const at = one.indexOf('=')
    if (at < 1 || at === one.length - 1) throw new UsageError(`--workflow takes id=FILE, and is "${one}"`)
    const id = one.slice(0, at)
    if (found.has(id)) throw new UsageError(`--workflow ${id} is given twice`)
    found.set(id, Promise.resolve(await inFile(one.slice(at + 1), registry, reader)))
  }
  const workflow = (id: string): Promise<CalledWorkflow> => {
    const known = found.get(id)
    if (known) return known
    const called = find(id, folder, registry, reader)
    found.set(id, called)
    // A name may be made by the run itself: those that mean nothing are not kept.
    called.catch(() => found.delete(id))
    return called
  }
  return {
    workflow,
    async plan(id) {
      const tool = toolGraph(id)
      return tool ? runnablePlan(compileGraph(tool, registry), 'the tool') : (await workflow(id)).plan
    },
  }
}

async function find(id: string, folder: string, registry: NodeRegistry, reader: Reader): Promise<CalledWorkflow> {
  try {
    if (id.startsWith('./')) return await inFile(await inside(folder, id), registry, reader)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    throw new NodeError(`The workflow "${id}" cannot be called: ${error.message}.`, 'workflow_unusable')
  }
  const example = examples().get(id)
  if (example) return { ...example, plan: await runnable(example.graph, id, registry) }
  const message = `There is no workflow "${id}" here.${meantTool(registry, id)} Say which file it is: --workflow ${id}=FILE.`
  throw new NodeError(message, 'workflow_not_found')
}

/** A workflow may name its neighbours, and no other files of whoever runs it, nor by a link. */
async function inside(folder: string, id: string): Promise<string> {
  const path = join(folder, id)
  if (await liesIn(resolve(path), resolve(folder))) return path
  throw new CommandError(
    EXIT.invalid,
    `it lies outside of the folder of the workflow that is run; --workflow can name it`,
  )
}

async function inFile(path: string, registry: NodeRegistry, reader: Reader): Promise<CalledWorkflow> {
  if (path === STDIN) throw new UsageError('--workflow takes a file, not standard input')
  const { graph, title, description } = workflowOf(await reader.json(path), path)
  return { name: title ?? basename(path, '.json'), description, plan: await runnable(graph, path, registry) }
}

async function runnable(graph: Graph, name: string, registry: NodeRegistry): Promise<Plan> {
  return runnablePlan(await compileFully(graph, registry), name)
}

function runnablePlan(compiled: Compiled, name: string): Plan {
  if (isRunnable(compiled)) return compiled.plan
  const errors = compiled.issues.filter((issue) => issue.severity === 'error')
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more; svc validate lists them)` : ''
  throw new CommandError(EXIT.invalid, `${name} cannot run: ${errors[0]?.message}${more}`)
}
