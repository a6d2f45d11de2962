// The tools of the server that models of a chat may call, behind one small interface; and the one that there is: running a workflow of the caller.
import type { ChatTool } from '../../generated/types.ts'
import type { Scope } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import { allOutputs } from '../jobs/manifest.ts'
import type { JobService, Submission } from '../jobs/service.ts'
import { resultOf } from '../jobs/snapshot.ts'
import { publicStatus } from '../jobs/states.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'
import { inputSchemaSteps } from '../workflows/interface.ts'
import type { WorkflowService } from '../workflows/service.ts'

export interface ToolResult {
  /** A JSON value. */
  readonly result: unknown
  /** The job that made it, or null. */
  readonly job_id: string | null
}

/** A tool as one owner may call it. */
export interface ServerTool {
  /** As callers choose it. */
  readonly name: string
  /** As models are told of it. The name there is another one, where models take none like that. */
  readonly definition: ChatTool & { type: 'function' }
  /** @throws ServiceError, whose public message the model reads; the signal's reason */
  call(args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult>
}

export interface ToolBox {
  /** The owner's tool of this name, in steps: it may take very many arguments. `at` is the pointer of the name in the request. @throws INVALID_REQUEST where there is none */
  toolSteps(owner: Scope, name: string, at: string): Steps<ServerTool>
}

const WORKFLOW = 'workflow/'
/** What models take as a name of a function. */
const LONGEST_NAME = 64
const TIMEOUT_SECONDS = 600

export interface WorkflowToolParts {
  readonly workflows: WorkflowService
  readonly jobs: Pick<JobService, 'prepare' | 'submit' | 'outcome'>
  readonly store: Store
  readonly slices: TimeSlices
}

/** `workflow/<id>` is a workflow of the caller. */
export function workflowTools({ workflows, ...parts }: WorkflowToolParts): ToolBox {
  return {
    *toolSteps(owner, name, at): Steps<ServerTool> {
      if (!name.startsWith(WORKFLOW)) throw noTool(name, at)
      const id = name.slice(WORKFLOW.length)
      const { compiled, title, description } = found(workflows, owner, id, () => noTool(name, at))
      const fn = {
        name: `workflow_${id}`.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, LONGEST_NAME),
        description: `${title}${description === '' ? '' : `: ${description}`}`,
        parameters: { ...(yield* inputSchemaSteps(compiled)) } as Record<string, unknown>,
      }
      return {
        name,
        definition: { type: 'function', function: fn },
        call: (args, signal) => run(parts, owner, id, args, signal),
      }
    },
  }
}

function found(workflows: WorkflowService, owner: Scope, id: string, none: () => ServiceError) {
  try {
    const { compiled, revision } = workflows.runnable(owner, id)
    const { name, description } = revision === null ? workflows.example(id).example : workflows.listed(owner, id)
    return { compiled, title: name, description }
  } catch (thrown) {
    if (thrown instanceof ServiceError && thrown.code === 'WORKFLOW_NOT_FOUND') throw none()
    throw thrown
  }
}

function noTool(name: string, at: string): ServiceError {
  const message = `There is no tool "${name.slice(0, 100)}". A tool of the server is named workflow/<id>.`
  return new ServiceError('INVALID_REQUEST', { message, problems: [{ path: at, message: 'no tool of the server' }] })
}

async function run(
  { jobs, ...stored }: Omit<WorkflowToolParts, 'workflows'>,
  owner: Scope,
  workflow_id: string,
  params: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const request = submission(workflow_id, params)
  await jobs.prepare(owner, request)
  signal.throwIfAborted()
  const { active } = jobs.submit(owner, request)
  if (!active) throw new Error('a new job is always active')
  await active.accepted()
  const row = await jobs.outcome(active, signal)
  const manifest = await resultOf(stored, row)
  if (manifest) return { result: allOutputs(active.plan, manifest.outputs), job_id: row.id }
  const why = row.error === null ? `is ${publicStatus(row.status)}` : (JSON.parse(row.error) as Error).message
  throw new ServiceError('CONFLICT', { message: `The run ${row.id} of the workflow gave no result: ${why}` })
}

function submission(workflow_id: string, params: Readonly<Record<string, unknown>>): Submission {
  return {
    workflow_id,
    graph: null,
    params: { ...params },
    params_at: '/arguments',
    job_id: null,
    name: null,
    concurrent: true,
    timeout_seconds: TIMEOUT_SECONDS,
    options: { persistence: null, event_detail: null, asset_persistence: null },
    watched: false,
    fed: false,
  }
}
