// The doors to a job's events: server-sent events, JSON and subscriptions tell the same, from wherever one begins.
import { history, subscribed } from '../jobs.ts'
import { type JsonMap, listOf, mapOf, same } from '../json.ts'
import { allRuns, completedRun, eventOf, sequencesOf, streamed } from '../runs.ts'
import { shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'

export async function doors(t: Trial): Promise<void> {
  const findings = new Findings()
  for (const { job_id, events, name } of await allRuns(t)) {
    const told: [string, JsonMap[]][] = []
    if (t.serves('followJobEvents')) told.push(['server-sent events', (await streamed(t, job_id)).events.map(eventOf)])
    if (t.takes('subscribe_job')) {
      for (const mode of ['binary', 'text'] as const) {
        told.push([`subscribe_job, ${mode}`, (await subscribed(t, job_id, 0, mode)).events])
      }
    }
    for (const [door, all] of told) {
      const answer = { [door]: sequencesOf(all), persisted: sequencesOf(events) }
      findings.see(same(all, events), () => ({ finding: `the run ${name} has another history as ${door}`, answer }))
    }
  }
  findings.settle('the server claims no door for events')
}

export async function replays(t: Trial): Promise<void> {
  const { job_id, events } = await completedRun(t)
  const findings = new Findings()
  for (let after = 0; after <= events.length; after++) {
    const rest = events.slice(after)
    const told: [string, unknown[]][] = []
    if (t.serves('followJobEvents')) {
      told.push(['JSON', await history(t, job_id, after)])
      const { events: sent } = await streamed(t, job_id, { 'Last-Event-ID': String(after) })
      told.push(['server-sent events', sent.map(eventOf)])
    }
    if (t.takes('subscribe_job')) told.push(['subscribe_job', (await subscribed(t, job_id, after)).events])
    for (const [door, got] of told) {
      const answer = { expected: sequencesOf(rest), got: sequencesOf(got.map(mapOf)) }
      findings.see(same(got, rest), () => ({ finding: `${door} after ${after} is not the rest`, answer }))
    }
  }
  findings.settle('the server claims no door for events')
}

export async function ahead(t: Trial): Promise<void> {
  const { job_id, events } = await completedRun(t)
  const findings = new Findings()
  const after = events.length + 1
  if (t.serves('followJobEvents')) {
    const answer = await t.call('followJobEvents', { values: { id: job_id }, query: `after_sequence=${after}` })
    const right = answer.status === 422 && mapOf(mapOf(answer.body).error).type === 'sequence_ahead'
    findings.see(right, () => ({ finding: `after ${after} is ${answer.status}`, ...shown(answer) }))
  }
  if (t.takes('subscribe_job')) {
    const reply = await (await t.socket()).ask('subscribe_job', { job_id, after_sequence: after })
    findings.see(reply.error?.code === 'SEQUENCE_AHEAD', () => ({
      finding: `after ${after} is no SEQUENCE_AHEAD`,
      answer: reply,
    }))
  }
  findings.settle('the server claims no door for events')
}

export async function serverSentEvents(t: Trial): Promise<void> {
  t.needs('followJobEvents')
  const { job_id, events } = await completedRun(t)
  const { events: sent, status, content_type } = await streamed(t, job_id)
  expect(
    status === 200 && content_type.startsWith('text/event-stream'),
    'it is no stream of events',
    { job_id },
    { status, content_type },
  )
  const right = sent.every((one, at) => one.id === String(events[at]?.sequence) && one.event === events[at]?.type)
  expect(right && sent.length === events.length, 'ids and events are not sequences and types', { job_id }, sent)
  const after = { headers: { 'Last-Event-ID': String(events.length), Accept: 'text/event-stream' } }
  const done = await t.call('followJobEvents', { values: { id: job_id } }, after)
  expect(done.status === 204, `a resume after the end is ${done.status}, not 204`, after, done.text)
}

export async function subscriptionRange(t: Trial): Promise<void> {
  t.needsCommands('subscribe_job')
  const { job_id, events, final } = await completedRun(t)
  const findings = new Findings()
  const last = events.length
  for (const after of [null, 0, 1, last - 1, last]) {
    const { reply, frames } = await subscribed(t, job_id, after)
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
      return same(mapOf(reply.result)[key], value)
    })
    const finding = `the answer to a subscription after ${String(after)} is not right, or comes after its events`
    findings.see(right && (first < 0 || replied < first), () => ({
      finding,
      request: { after_sequence: after },
      answer: reply,
    }))
  }
  findings.settle('')
}

export async function unknownJob(t: Trial): Promise<void> {
  const findings = new Findings()
  const job_id = 'conformance-unknown'
  if (t.serves('followJobEvents')) {
    const answer = await t.call('followJobEvents', { values: { id: job_id } })
    const right = answer.status === 404 && mapOf(mapOf(answer.body).error).type === 'job_not_found'
    findings.see(right, () => ({ finding: 'its events are no JOB_NOT_FOUND', ...shown(answer) }))
  }
  for (const command of ['subscribe_job', 'get_job_snapshot', 'request_job_cancellation'] as const) {
    if (!t.takes(command)) continue
    const reply = await (await t.socket()).ask(command, { job_id })
    findings.see(reply.error?.code === 'JOB_NOT_FOUND', () => ({
      finding: `${command} is no JOB_NOT_FOUND`,
      answer: reply,
    }))
  }
  findings.settle('the server claims no door for events')
}
