// Checks that all transports of events agree: server-sent events, JSON and subscriptions return the same history after any sequence.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { readHistory, readSubscription } from '../job-actions.ts'
import { isSameJson, type JsonMap, listOf, mapOf } from '../json.ts'
import {
  listSequences,
  observeAllRuns,
  observeCompletedRun,
  parseStreamedEvent,
  readEventStream,
} from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { toEvidenceParts } from '../target-server.ts'

export async function checkSameThroughEveryTransport(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  for (const { job_id, events, name } of await observeAllRuns(t)) {
    const told: [string, JsonMap[]][] = []
    if (t.hasOperation('followJobEvents'))
      told.push(['server-sent events', (await readEventStream(t, job_id)).events.map(parseStreamedEvent)])
    if (t.hasCommand('subscribe_job')) {
      for (const mode of ['binary', 'text'] as const) {
        told.push([`subscribe_job, ${mode}`, (await readSubscription(t, job_id, 0, mode)).events])
      }
    }
    for (const [door, all] of told) {
      const answer = { [door]: listSequences(all), persisted: listSequences(events) }
      findings.addCase(isSameJson(all, events), () => ({
        finding: `the run ${name} has a different history over ${door}`,
        answer,
      }))
    }
  }
  findings.throwIfBroken('the server claims no operation for events')
}

export async function checkReplays(t: SuiteContext): Promise<void> {
  const { job_id, events } = await observeCompletedRun(t)
  const findings = new CheckFindings()
  for (let after = 0; after <= events.length; after++) {
    const rest = events.slice(after)
    const told: [string, unknown[]][] = []
    if (t.hasOperation('followJobEvents')) {
      told.push(['JSON', await readHistory(t, job_id, after)])
      const { events: sent } = await readEventStream(t, job_id, { 'Last-Event-ID': String(after) })
      told.push(['server-sent events', sent.map(parseStreamedEvent)])
    }
    if (t.hasCommand('subscribe_job')) told.push(['subscribe_job', (await readSubscription(t, job_id, after)).events])
    for (const [door, got] of told) {
      const answer = { expected: listSequences(rest), got: listSequences(got.map(mapOf)) }
      findings.addCase(isSameJson(got, rest), () => ({
        finding: `${door} after ${after} does not return the rest of the history`,
        answer,
      }))
    }
  }
  findings.throwIfBroken('the server claims no operation for events')
}

export async function checkSequenceAhead(t: SuiteContext): Promise<void> {
  const { job_id, events } = await observeCompletedRun(t)
  const findings = new CheckFindings()
  const after = events.length + 1
  if (t.hasOperation('followJobEvents')) {
    const answer = await t.call('followJobEvents', { values: { id: job_id }, query: `after_sequence=${after}` })
    const right = answer.status === 422 && mapOf(mapOf(answer.body).error).type === 'sequence_ahead'
    findings.addCase(right, () => ({ finding: `after ${after} is ${answer.status}`, ...toEvidenceParts(answer) }))
  }
  if (t.hasCommand('subscribe_job')) {
    const reply = await (await t.openSocket()).request('subscribe_job', { job_id, after_sequence: after })
    findings.addCase(reply.error?.code === 'SEQUENCE_AHEAD', () => ({
      finding: `after ${after} is not answered with SEQUENCE_AHEAD`,
      answer: reply,
    }))
  }
  findings.throwIfBroken('the server claims no operation for events')
}

export async function checkServerSentEvents(t: SuiteContext): Promise<void> {
  t.requireOperations('followJobEvents')
  const { job_id, events } = await observeCompletedRun(t)
  const { events: sent, status, content_type } = await readEventStream(t, job_id)
  expect(
    status === 200 && content_type.startsWith('text/event-stream'),
    'the answer is not a stream of events',
    { job_id },
    { status, content_type },
  )
  const right = sent.every((one, at) => one.id === String(events[at]?.sequence) && one.event === events[at]?.type)
  expect(
    right && sent.length === events.length,
    'the fields id and event differ from sequence and type',
    { job_id },
    sent,
  )
  const after = { headers: { 'Last-Event-ID': String(events.length), Accept: 'text/event-stream' } }
  const done = await t.call('followJobEvents', { values: { id: job_id } }, after)
  expect(done.status === 204, `a resume after the end is ${done.status}, not 204`, after, done.text)
}

export async function checkSubscriptionRange(t: SuiteContext): Promise<void> {
  t.requireCommands('subscribe_job')
  const { job_id, events, final } = await observeCompletedRun(t)
  const findings = new CheckFindings()
  const last = events.length
  for (const after of [null, 0, 1, last - 1, last]) {
    const { reply, frames } = await readSubscription(t, job_id, after)
    const asked = after ?? 0
    const wanted = {
      job_id,
      requested_after_sequence: asked,
      replay_from_sequence: asked === last ? null : asked + 1,
      replay_to_sequence: last,
      snapshot: final,
    }
    const first = frames.findIndex(({ type }) => type === 'job_event')
    const replied = frames.findIndex(({ request_id }) => request_id === reply.request_id)
    const right = listOf(Object.entries(wanted)).every((entry) => {
      const [key, value] = entry as [string, unknown]
      return isSameJson(mapOf(reply.result)[key], value)
    })
    const finding = `the answer to a subscription after ${String(after)} is wrong, or comes after its events`
    findings.addCase(right && (first < 0 || replied < first), () => ({
      finding,
      request: { after_sequence: after },
      answer: reply,
    }))
  }
  findings.throwIfBroken('')
}

export async function checkUnknownJob(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const job_id = 'conformance-unknown'
  if (t.hasOperation('followJobEvents')) {
    const answer = await t.call('followJobEvents', { values: { id: job_id } })
    const right = answer.status === 404 && mapOf(mapOf(answer.body).error).type === 'job_not_found'
    findings.addCase(right, () => ({
      finding: 'its events are not answered with JOB_NOT_FOUND',
      ...toEvidenceParts(answer),
    }))
  }
  for (const command of ['subscribe_job', 'get_job_snapshot', 'request_job_cancellation'] as const) {
    if (!t.hasCommand(command)) continue
    const reply = await (await t.openSocket()).request(command, { job_id })
    findings.addCase(reply.error?.code === 'JOB_NOT_FOUND', () => ({
      finding: `${command} is not answered with JOB_NOT_FOUND`,
      answer: reply,
    }))
  }
  findings.throwIfBroken('the server claims no operation for events')
}
