// Follows the job of a workflow and yields its answer: pieces of its text output, then the usage, or an error.
import type { JobError } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
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

export interface WorkflowAnswerParts {
  readonly jobs: Pick<JobService, 'get' | 'living'>
  readonly events: Pick<EventLog, 'follow'>
  /** Time slices of the owner, for large values. */
  readonly slices: Pick<TimeSliceScheduler, 'run'>
}

export interface WorkflowRun {
  readonly owner: OwnerScope
  readonly active: ActiveJob
  /** The name of the output with the answer. */
  readonly output: string
  /** The text that the workflow received, for estimates. */
  readonly words: string
  /** `workflow/<id>`. */
  readonly model: string
}

type TerminalEvent = Extract<EventBody, { type: 'job_terminal' }>

/** An estimate for workflows without model usage. */
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
    // The job runs on, or is at least stored: a repeated request would run it twice.
    throw isUnavailableError(thrown) ? toUnconfirmedError(asked.active.row.id, thrown) : thrown
  }
}

/** Clients of OpenAI's API retry after a 503 unless a header forbids it. */
const NO_RETRY_HEADERS = { 'X-Should-Retry': 'false' }

/** The error for a job whose answer can no longer be followed. */
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
      // A job that waited for a time continues as another active job.
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

/** Media becomes its URL. Null for a large value whose text must be made in slices. */
function toText(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  const { uri } = value as { uri?: unknown }
  if (typeof uri === 'string') return uri
  return cachedJsonText(value) ?? (isSmallValue(value) ? stringifyWithBase64(value) : null)
}

/** A completion cannot collect a person's answer, so such a job is refused. A wait for time goes on. */
function refuseWaitingForInput(row: JobTable): void {
  if (row.status !== 'paused') return
  const asked = parseStoredWaits(row).find(({ kind }) => kind !== 'delay')
  if (!asked) return
  const what = asked.kind === 'approval' ? 'an approval' : 'a value'
  const hint = `Send it with POST /api/jobs/${row.id}/resume, then read the result of the job.`
  throw new ServiceError('JOB_SUSPENDED', { message: `The job "${row.id}" waits for ${what}. ${hint}` })
}

function refuseUncompleted(job_id: string, event: TerminalEvent): void {
  const { status } = event
  // The snapshot of a completed job is not read: that would parse its whole result.
  if (status === 'completed') return
  if (status === 'cancelled') throw new ServiceError('JOB_CANCELLED', { message: `The job "${job_id}" was cancelled.` })
  const { message } = (event.snapshot as { error: JobError | null }).error ?? { message: '' }
  throw new ServiceError('JOB_FAILED', { message: `The job "${job_id}" failed: ${message}` })
}

/**
 * The usage of the workflow's models; if they used nothing, an estimate from the texts. A text never counts as zero
 * tokens.
 */
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
