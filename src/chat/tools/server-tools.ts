// The server tools that chat models may call. The only kind so far runs a workflow of the caller.
import type { ChatTool } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Store } from '../../db/store.ts'
import { ServiceError } from '../../errors.ts'
import { withMissingOutputs } from '../../jobs/outputs/result-manifest.ts'
import type { JobService, UnkeyedSubmission } from '../../jobs/service.ts'
import { readJobResult } from '../../jobs/snapshot.ts'
import { toPublicStatus } from '../../jobs/state-machine.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { deriveInputSchemaSteps } from '../../workflows/interface.ts'
import type { WorkflowService } from '../../workflows/service.ts'

export interface ServerToolResult {
  /** A JSON value. */
  readonly result: unknown
  /** The job that made the result, or null. */
  readonly job_id: string | null
}

export interface ServerTool {
  /** The name that callers use. */
  readonly name: string
  /** The definition for models. Its name differs where models do not accept the original name. */
  readonly definition: ChatTool & { type: 'function' }
  /** @throws ServiceError with a public message that the model reads; the signal's reason */
  call(args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ServerToolResult>
}

export interface ServerToolResolver {
  /**
   * The owner's tool of this name, in steps: it may take very many arguments. `at` is the pointer of the name in the
   * request.
   * @throws INVALID_REQUEST if there is no such tool
   */
  toolSteps(owner: OwnerScope, name: string, at: string): Steps<ServerTool>
}

const WORKFLOW_TOOL_PREFIX = 'workflow/'
/** The limit of models for names of functions. */
const MAX_NAME_LENGTH = 64
const TIMEOUT_SECONDS = 600

export interface WorkflowToolParts {
  readonly workflows: WorkflowService
  readonly jobs: Pick<JobService, 'prepare' | 'submit' | 'outcome'>
  readonly store: Store
  readonly slices: TimeSliceScheduler
}

/** Resolves `workflow/<id>` to a workflow of the caller. */
export function createWorkflowTools({ workflows, ...parts }: WorkflowToolParts): ServerToolResolver {
  return {
    *toolSteps(owner, name, at): Steps<ServerTool> {
      if (!name.startsWith(WORKFLOW_TOOL_PREFIX)) throw createNoToolError(name, at)
      const id = name.slice(WORKFLOW_TOOL_PREFIX.length)
      const { compiled, title, description } = findWorkflow(workflows, owner, id, () => createNoToolError(name, at))
      const fn = {
        name: `workflow_${id}`.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME_LENGTH),
        description: `${title}${description === '' ? '' : `: ${description}`}`,
        parameters: { ...(yield* deriveInputSchemaSteps(compiled)) } as Record<string, unknown>,
      }
      return {
        name,
        definition: { type: 'function', function: fn },
        call: (args, signal) => runWorkflow(parts, owner, id, args, signal),
      }
    },
  }
}

function findWorkflow(workflows: WorkflowService, owner: OwnerScope, id: string, none: () => ServiceError) {
  try {
    const { compiled, revision } = workflows.runnable(owner, id)
    const { name, description } = revision === null ? workflows.example(id).example : workflows.getListItem(owner, id)
    return { compiled, title: name, description }
  } catch (thrown) {
    if (thrown instanceof ServiceError && thrown.code === 'WORKFLOW_NOT_FOUND') throw none()
    throw thrown
  }
}

function createNoToolError(name: string, at: string): ServiceError {
  const message = `There is no tool "${name.slice(0, 100)}". The name of a server tool is workflow/<id>.`
  return new ServiceError('INVALID_REQUEST', { message, problems: [{ path: at, message: 'is not a server tool' }] })
}

async function runWorkflow(
  { jobs, ...stored }: Omit<WorkflowToolParts, 'workflows'>,
  owner: OwnerScope,
  workflow_id: string,
  params: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ServerToolResult> {
  const request = createSubmission(workflow_id, params)
  await jobs.prepare(owner, request)
  signal.throwIfAborted()
  const { active } = jobs.submit(owner, request)
  await active.accepted()
  const row = await jobs.outcome(active, signal)
  const manifest = await readJobResult(stored, row)
  if (manifest) return { result: withMissingOutputs(active.plan, manifest.outputs), job_id: row.id }
  const why = row.error === null ? `is ${toPublicStatus(row.status)}` : (JSON.parse(row.error) as Error).message
  throw new ServiceError('CONFLICT', { message: `The run ${row.id} of the workflow gave no result: ${why}` })
}

function createSubmission(workflow_id: string, params: Readonly<Record<string, unknown>>): UnkeyedSubmission {
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
    hasFollower: false,
    acceptsStreamInput: false,
  }
}
