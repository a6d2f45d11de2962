// The answer of a workflow, as its job goes on: the pieces of its text output, then what it used, or why there is no more of it.
import type { JobError } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import type { ModelUsage } from '../../engine/node-api/node-services.ts'
import { isUnavailableError, ServiceError } from '../../errors.ts'
import { LazyOutputEvent } from '../../events/lazy-event.ts'
import type { EventLog } from '../../events/log.ts'
import type { EventBody } from '../../events/types.ts'
import type { ActiveJob } from '../../jobs/active-job.ts'
import type { JobService } from '../../jobs/service.ts'
import { createOutcomeUnknownError } from '../../jobs/submission/outcome-unknown-error.ts'
import { parseStoredWaits } from '../../jobs/waits/stored-waits.ts'
import { chunkLongText } from '../../models/calls/answer-part-chunks.ts'
import type { ModelCallOptions } from '../../models/calls/model-service.ts'
import { cachedJsonText, stringifyWithBase64Steps } from '../../shared/incremental-json.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import { type TimeSliceScheduler, yieldToEventLoop } from '../../shared/time-slices.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import type { AnswerPart } from '../answers/generator.ts'
import { withErrorHeaders } from '../error-conversion.ts'

/** Where a job is followed. */
export interface WorkflowAnswerParts {
  readonly jobs: Pick<JobService, 'get' | 'living'>
  readonly events: Pick<EventLog, 'follow'>
  /** Reads and writes large values in time slices of the owner. */
  readonly slices: Pick<TimeSliceScheduler, 'run'>
}

export interface WorkflowRun {
  readonly owner: OwnerScope
  readonly active: ActiveJob
  /** The output that is the answer. */
  readonly output: string
  /** What the workflow was given, for estimates. */
  readonly words: string
  /** `workflow/<id>`. */
  readonly model: string
}

type TerminalEvent = Extract<EventBody, { type: 'job_terminal' }>

/** What a token is taken to have where no model counted. */
const CHARACTERS_PER_TOKEN = 4

/** @throws ServiceError JOB_FAILED, JOB_CANCELLED, JOB_SUSPENDED, OUTCOME_UNKNOWN; the signal's reason */
export async function* streamWorkflowAnswer(
  following: WorkflowAnswerParts,
  asked: WorkflowRun,
  calling: ModelCallOptions,
): AsyncGenerator<AnswerPart, void, void> {
  try {
    yield* followJob(following, asked, calling)
  } catch (thrown) {
    // The job goes on, or was stored at least: asked again, it would run twice.
    throw isUnavailableError(thrown) ? toUnconfirmedError(asked.active.row.id, thrown) : thrown
  }
}

/** Clients of OpenAI's API send a request again that is answered with 503, unless they are told not to. */
const NO_RETRY_HEADERS = { 'X-Should-Retry': 'false' }

/** What is told of the job of an answer that nobody can wait for any more. */
export function toUnconfirmedError(job_id: string, cause: unknown): unknown {
  return withErrorHeaders(createOutcomeUnknownError(job_id, cause), NO_RETRY_HEADERS)
}

async function* followJob(
  { jobs, events, slices }: WorkflowAnswerParts,
  { owner, active, output, words, model }: WorkflowRun,
  { signal, used }: ModelCallOptions,
): AsyncGenerator<AnswerPart, void, void> {
  const { id: job_id, key } = active.row
  let job = active
  let length = 0
  for await (const { event } of events.follow(key, 0, signal, active.feed)) {
    if (event instanceof LazyOutputEvent) await event.prepareBody(slices, userShareKey(owner))
    if (event?.type === 'output_update' && event.output_name === output) {
      const text = toText(event.value) ?? (await slices.run(userShareKey(owner), stringifyWithBase64Steps(event.value)))
      length += text.length
      for (const [at, piece] of chunkLongText(text).entries()) {
        if (at > 0) await yieldToEventLoop()
        if (piece !== '') yield { type: 'text', text: piece }
      }
    }
    if (event?.type === 'job_status') {
      if (event.status === 'suspended') refuseWaitingForInput((await jobs.get(owner, job_id)).row)
      // One that waited for time goes on as another one.
      job = jobs.living(owner, job_id) ?? job
    }
    if (event?.type === 'job_terminal') {
      const use = estimateUse(model, job, words, length)
      used?.(use)
      refuseUncompleted(job_id, event)
      yield { type: 'end', use, finish_reason: 'stop' }
      return
    }
  }
  signal.throwIfAborted()
  throw new ServiceError('SERVICE_UNAVAILABLE')
}

/** Media is told by its address. Null: it is a large value whose text is yet to be made. */
function toText(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  const { uri } = value as { uri?: unknown }
  if (typeof uri === 'string') return uri
  return cachedJsonText(value) ?? (isSmallValue(value) ? stringifyWithBase64(value) : null)
}

/** Nobody answers a person's question in a completion; the passing of time is waited for. */
function refuseWaitingForInput(row: JobTable): void {
  if (row.status !== 'paused') return
  const asked = parseStoredWaits(row).find(({ kind }) => kind !== 'delay')
  if (!asked) return
  const what = asked.kind === 'approval' ? 'an approval' : 'a value'
  const cure = `Give it with POST /api/jobs/${row.id}/resume, and read its result there.`
  throw new ServiceError('JOB_SUSPENDED', { message: `The job "${row.id}" waits for ${what}. ${cure}` })
}

function refuseUncompleted(job_id: string, event: TerminalEvent): void {
  const { status } = event
  // To ask for the snapshot of a completed job would parse its whole result.
  if (status === 'completed') return
  if (status === 'cancelled') throw new ServiceError('JOB_CANCELLED', { message: `The job "${job_id}" was cancelled.` })
  const { message } = (event.snapshot as { error: JobError | null }).error ?? { message: '' }
  throw new ServiceError('JOB_FAILED', { message: `The job "${job_id}" failed: ${message}` })
}

/** What its models used; where they used nothing, an estimate of the texts: there are no zeros where there is text. */
function estimateUse(model: string, { journal: { spending } }: ActiveJob, words: string, answered: number): ModelUsage {
  const uses = [...spending.uses]
  const sum = (key: 'input_tokens' | 'output_tokens') => uses.reduce((total, use) => total + use[key], 0)
  const cost = spending.cost(null)
  return {
    model,
    input_tokens: sum('input_tokens') || Math.ceil(words.length / CHARACTERS_PER_TOKEN),
    output_tokens: sum('output_tokens') || Math.ceil(answered / CHARACTERS_PER_TOKEN),
    cost: cost && { amount: cost.amount, currency: cost.currency, reported: cost.reconciled },
  }
}
