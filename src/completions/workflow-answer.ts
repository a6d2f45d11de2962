// The answer of a workflow, as its job goes on: the pieces of its text output, then what it used, or why there is no more of it.
import type { JobError } from '../../generated/types.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { ModelUse } from '../engine/services.ts'
import { isUnavailable, ServiceError } from '../errors.ts'
import { StoredOutput } from '../events/lazy-event.ts'
import type { EventLog } from '../events/log.ts'
import type { EventBody } from '../events/types.ts'
import type { ActiveJob } from '../jobs/active-job.ts'
import type { JobService } from '../jobs/service.ts'
import { unconfirmed } from '../jobs/unconfirmed.ts'
import { waitingOf } from '../jobs/waiting.ts'
import { jsonText } from '../json.ts'
import { knownText, textSteps } from '../json-steps.ts'
import { isLight } from '../light-parts.ts'
import type { Calling } from '../models/models.ts'
import { shortTexts } from '../models/short-parts.ts'
import { nextTurn, type TimeSlices } from '../time-slices.ts'
import type { AnswerPart } from './answering.ts'
import { withHeaders } from './errors.ts'

/** Where a job is followed. */
export interface Following {
  readonly jobs: Pick<JobService, 'get' | 'living'>
  readonly events: Pick<EventLog, 'follow'>
  /** Reads and writes large values in time slices of the owner. */
  readonly slices: Pick<TimeSlices, 'run'>
}

export interface Asked {
  readonly owner: Scope
  readonly active: ActiveJob
  /** The output that is the answer. */
  readonly output: string
  /** What the workflow was given, for estimates. */
  readonly words: string
  /** `workflow/<id>`. */
  readonly model: string
}

type Terminal = Extract<EventBody, { type: 'job_terminal' }>

/** What a token is taken to have where no model counted. */
const CHARACTERS_OF_TOKEN = 4

/** @throws ServiceError JOB_FAILED, JOB_CANCELLED, JOB_SUSPENDED, OUTCOME_UNKNOWN; the signal's reason */
export async function* answerOf(
  following: Following,
  asked: Asked,
  calling: Calling,
): AsyncGenerator<AnswerPart, void, void> {
  try {
    yield* answerParts(following, asked, calling)
  } catch (thrown) {
    // The job goes on, or was stored at least: asked again, it would run twice.
    throw isUnavailable(thrown) ? unconfirmedAnswer(asked.active.row.id, thrown) : thrown
  }
}

/** Clients of OpenAI's API send a request again that is answered with 503, unless they are told not to. */
const ASK_ONCE = { 'X-Should-Retry': 'false' }

/** What is told of the job of an answer that nobody can wait for any more. */
export function unconfirmedAnswer(job_id: string, cause: unknown): unknown {
  return withHeaders(unconfirmed(job_id, cause), ASK_ONCE)
}

async function* answerParts(
  { jobs, events, slices }: Following,
  { owner, active, output, words, model }: Asked,
  { signal, used }: Calling,
): AsyncGenerator<AnswerPart, void, void> {
  const { id: job_id, key } = active.row
  let job = active
  let length = 0
  for await (const { event } of events.follow(key, 0, signal, active.feed)) {
    if (event instanceof StoredOutput) await event.make(slices, userKey(owner))
    if (event?.type === 'output_update' && event.output_name === output) {
      const text = textOf(event.value) ?? (await slices.run(userKey(owner), textSteps(event.value)))
      length += text.length
      for (const [at, piece] of shortTexts(text).entries()) {
        if (at > 0) await nextTurn()
        if (piece !== '') yield { type: 'text', text: piece }
      }
    }
    if (event?.type === 'job_status') {
      if (event.status === 'suspended') guardWaiting((await jobs.get(owner, job_id)).row)
      // One that waited for time goes on as another one.
      job = jobs.living(owner, job_id) ?? job
    }
    if (event?.type === 'job_terminal') {
      const use = useOf(model, job, words, length)
      used?.(use)
      guardEnd(job_id, event)
      yield { type: 'end', use, finish_reason: 'stop' }
      return
    }
  }
  signal.throwIfAborted()
  throw new ServiceError('SERVICE_UNAVAILABLE')
}

/** Media is told by its address. Null: it is a large value whose text is yet to be made. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  const { uri } = value as { uri?: unknown }
  if (typeof uri === 'string') return uri
  return knownText(value) ?? (isLight(value) ? jsonText(value) : null)
}

/** Nobody answers a person's question in a completion; the passing of time is waited for. */
function guardWaiting(row: JobTable): void {
  if (row.status !== 'paused') return
  const asked = waitingOf(row).find(({ kind }) => kind !== 'delay')
  if (!asked) return
  const what = asked.kind === 'approval' ? 'an approval' : 'a value'
  const cure = `Give it with POST /api/jobs/${row.id}/resume, and read its result there.`
  throw new ServiceError('JOB_SUSPENDED', { message: `The job "${row.id}" waits for ${what}. ${cure}` })
}

function guardEnd(job_id: string, event: Terminal): void {
  const { status } = event
  // To ask for the snapshot of a completed job would parse its whole result.
  if (status === 'completed') return
  if (status === 'cancelled') throw new ServiceError('JOB_CANCELLED', { message: `The job "${job_id}" was cancelled.` })
  const { message } = (event.snapshot as { error: JobError | null }).error ?? { message: '' }
  throw new ServiceError('JOB_FAILED', { message: `The job "${job_id}" failed: ${message}` })
}

/** What its models used; where they used nothing, an estimate of the texts: there are no zeros where there is text. */
function useOf(model: string, { memory: { spending } }: ActiveJob, words: string, answered: number): ModelUse {
  const uses = [...spending.uses]
  const sum = (key: 'input_tokens' | 'output_tokens') => uses.reduce((total, use) => total + use[key], 0)
  const cost = spending.cost(null)
  return {
    model,
    input_tokens: sum('input_tokens') || Math.ceil(words.length / CHARACTERS_OF_TOKEN),
    output_tokens: sum('output_tokens') || Math.ceil(answered / CHARACTERS_OF_TOKEN),
    cost: cost && { amount: cost.amount, currency: cost.currency, reported: cost.reconciled },
  }
}
