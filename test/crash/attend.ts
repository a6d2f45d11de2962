// Actions of other clients on a living job: they answer it, send it values, cancel it, read it and retry it.
import type { JobSnapshot } from '../../generated/types.ts'
import type { Frame } from '../helpers/socket.ts'
import { isTerminalStatus } from './evidence.ts'
import type { TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'
import type { WatchingSocket } from './sockets.ts'

/** `hurried`: no wait is left unanswered. */
export function attend(life: Life, job: TrackedJob, socket: WatchingSocket, hurried: boolean): void {
  const { work, job_id } = job
  const waits = work.answer !== undefined && !job.answered
  if (waits && (hurried || job.patience-- <= 0)) life.spawn(`the answer to ${job_id}`, () => answer(life, job, socket))
  if (work.kind === 'fed' && !job.input_ended && job.door === 'socket') {
    life.spawn(`values for ${job_id}`, () => feed(life, job, socket, hurried))
  }
  if (job.cancel_wanted && !job.cancelled && (job.work.kind !== 'burst' || hurried))
    life.spawn(`the cancel of ${job_id}`, () => cancelLater(life, job))
  if (job.random.chance(0.5)) life.spawn(`a look at ${job_id}`, () => look(life, job))
}

async function look(life: Life, job: TrackedJob): Promise<void> {
  await life.pause(job.random.int(20, 900))
  if (life.over) return
  const answer = await life.request<JobSnapshot>('GET', `/api/jobs/${job.job_id}`)
  if (answer?.status === 200) job.seen.push(answer.body)
  else if (answer) life.complain(`${job.job_id} was acknowledged, and is answered with ${answer.status}`)
}

/** Sends a suspended job its value. Sometimes it first sends a wrong value, which must have no effect. */
async function answer(life: Life, job: TrackedJob, socket: WatchingSocket): Promise<void> {
  if (!(await life.until(() => job.sse.status === 'suspended' || job.ended))) return
  await life.pause(job.random.int(0, 300))
  if (job.random.chance(0.3)) await give(life, job, socket, { wrong: true }, 422)
  await give(life, job, socket, job.work.answer, 200)
}

async function give(life: Life, job: TrackedJob, socket: WatchingSocket, value: unknown, due: number): Promise<void> {
  if (life.over || job.ended) return
  // A refusal over the socket has less detail than a status.
  if (due === 200 && job.random.chance(0.4)) return giveOverSocket(life, job, socket, value)
  const path = `/api/jobs/${job.job_id}/resume`
  const reply = await life.request<JobSnapshot>('POST', path, { body: { value } })
  if (!reply) return
  if (reply.status === 503 && life.short) return
  // An interrupted request of an earlier life may have taken effect.
  if (reply.status === 409 && (job.kills.length > 0 || job.cancel_wanted)) job.answered = true
  else if (reply.status !== due) life.complain(`${path} was answered with ${reply.status}: ${reply.text}`)
  else if (due === 200) job.answered = true
}

async function giveOverSocket(life: Life, job: TrackedJob, socket: WatchingSocket, value: unknown): Promise<void> {
  const reply = await ask(life, socket, 'resume_job', { job_id: job.job_id, value })
  if (!reply) return
  if (reply.error === 'unavailable' && life.short) return
  if (reply.error === 'unavailable') return life.complain(`resume_job: ${JSON.stringify(reply)}`)
  if (reply.error === undefined) job.answered = true
  else if (job.kills.length === 0 && !job.cancel_wanted) life.complain(`resume_job: ${JSON.stringify(reply)}`)
  else job.answered = true
}

/** The answer to a command. Null where the kill interrupted it. */
async function ask(life: Life, { client }: WatchingSocket, command: string, data: object): Promise<Frame | null> {
  try {
    return await client.ask(command, data)
  } catch (error) {
    if (life.over) return null
    throw error
  }
}

/** Sends the remaining values once each. A value without an acknowledgement is not sent again. */
async function feed(life: Life, job: TrackedJob, socket: WatchingSocket, hurried: boolean): Promise<void> {
  const { job_id, work } = job
  for (;;) {
    await life.pause(hurried ? 1 : job.random.int(10, 250))
    if (life.over || job.ended) return
    const value = work.pushes[job.pushed.length + job.maybe_pushed.length]
    if (value === undefined) break
    job.maybe_pushed.push(value)
    const reply = await ask(life, socket, 'stream_input', { job_id, input: 'values', value })
    if (!reply) return
    if (reply.error === undefined) job.pushed.push(job.maybe_pushed.pop()!)
    else if (!job.cancel_wanted && !(life.short && reply.error === 'unavailable'))
      life.complain(`stream_input: ${JSON.stringify(reply)}`)
  }
  const reply = await ask(life, socket, 'end_input_stream', { job_id, input: 'values' })
  if (reply && reply.error !== 'unavailable') job.input_ended = true
}

async function cancelLater(life: Life, job: TrackedJob): Promise<void> {
  await life.pause(job.random.int(0, 700))
  if (!life.over && !job.ended) await cancel(life, job)
}

/** Cancels a job. An acknowledgement is a promise, whatever state it shows. */
export async function cancel(life: Life, job: TrackedJob): Promise<void> {
  job.cancel_wanted = true
  const reply = await life.request<JobSnapshot>('POST', `/api/jobs/${job.job_id}/cancel`)
  if (!reply || (reply.status === 503 && life.short)) return
  if (reply.status !== 200) return life.complain(`the cancel of ${job.job_id} was answered with ${reply.status}`)
  job.seen.push(reply.body)
  job.cancelled = true
  if (!isTerminalStatus(reply.body.status) && reply.body.status !== 'cancel_requested') {
    life.complain(`${job.job_id} was cancelled, and is shown as ${reply.body.status}`)
  }
}
