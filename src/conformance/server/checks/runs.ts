// Checks of runs by `run_job` on the socket, and over HTTP in one request.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { isTerminal, readJob, storeSampleWorkflow, waitForJobEnd } from '../job-actions.ts'
import { isSameJson, type JsonMap, listOf, mapOf } from '../json.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { SuiteSocket } from '../suite-socket.ts'
import { toEvidenceParts } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'

/** Frames of persisted events, in a run without reconnection and without a queue. */
const PERSISTED_FRAME_TYPES: ReadonlySet<string> = new Set(['job_update', 'node_update', 'output_update'])
const PROVISIONAL_FRAME_TYPES: ReadonlySet<string> = new Set(['edge_update', 'node_progress', 'chunk', 'log_update'])

export const runChecks: AreaChecks<'runs'> = {
  'server.runs.acknowledged': async (t) => {
    const { frames, job_id } = await runOverSocket(t)
    const ack = frames.find(({ type, job_id: named }) => type === undefined && named === job_id)
    expect(typeof ack?.message === 'string', 'run_job is not acknowledged with its job_id', { job_id }, frames[0])
    const strays = frames.filter(
      (frame) => /^(job|node|output|edge)_update$|^chunk$/.test(String(frame.type)) && frame.job_id !== job_id,
    )
    expect(strays.length === 0, 'frames of the job do not carry its id', { job_id }, strays)
  },
  'server.runs.one-running-one-terminal': async (t) => {
    const { frames, job_id } = await runOverSocket(t)
    const statuses = listJobUpdates(frames, job_id).map(({ status }) => status)
    const running = statuses.filter((status) => status === 'running')
    const terminal = listJobUpdates(frames, job_id).filter(isTerminal)
    const right = running.length === 1 && terminal.length === 1 && statuses.at(-1) === 'completed'
    expect(right, 'the frames are not one running and one terminal job_update, in this order', { job_id }, statuses)
  },
  'server.runs.sequences': async (t) => {
    const { frames, job_id } = await runOverSocket(t)
    const own = frames.filter((frame) => frame.job_id === job_id)
    const told = own.filter(({ type }) => PERSISTED_FRAME_TYPES.has(String(type)))
    const sequences = told.map(({ sequence }) => Number(sequence ?? 0))
    const rise = sequences.every((sequence, at) => sequence > (sequences[at - 1] ?? 0))
    expect(rise, 'the sequences of the frames do not rise, or a frame of a persisted event has none', { job_id }, told)
    const others = own.filter(
      ({ type, sequence }) => PROVISIONAL_FRAME_TYPES.has(String(type)) && (sequence ?? null) !== null,
    )
    expect(others.length === 0, 'a provisional frame has a sequence', { job_id }, others)
    if (!t.hasOperation('getJob') && !t.hasOperation('getJobSnapshot')) return
    const { last_sequence } = mapOf((await readJob(t, job_id)).body)
    expect(
      last_sequence === sequences.at(-1),
      'the terminal frame does not have the sequence of the last event',
      { last_sequence },
      told,
    )
  },
  'server.runs.outputs-are-lists': async (t) => {
    const { frames, job_id } = await runOverSocket(t)
    const last = listJobUpdates(frames, job_id).find(({ status }) => status === 'completed')
    const { outputs } = mapOf(last?.result)
    expect(
      isSameJson(outputs, { greeting: ['Hello, Ada'], name: ['Ada'] }),
      'the outputs are not lists of the values of the graph',
      {},
      last,
    )
  },
  'server.runs.cancel-unknown': async (t) => {
    t.requireCommands('cancel_job')
    const socket = await t.openSocket()
    const job_id = 'conformance-unknown'
    socket.send({ command: 'cancel_job', data: { job_id } })
    const refusal = await socket.waitForFrame(
      'unknown_job',
      (frame) => frame.error === 'unknown_job' && frame.job_id === job_id,
    )
    const update = await socket.waitForFrame(
      'a job_update failed',
      (frame) => isJobUpdate(frame, job_id) && frame.status === 'failed',
    )
    for (const said of [refusal, update])
      expect(
        said.code === 'JOB_NOT_FOUND' && typeof said.message === 'string',
        'the refusal has no code or no message',
        { code: 'JOB_NOT_FOUND' },
        said,
      )
  },
  'server.runs.reconnect': checkReconnect,
  'server.runs.http-result': async (t) => {
    t.requireOperations('runWorkflow')
    const good = await runOverHttp(t, 'greeting', { name: 'Ada' })
    const right = good.status === 'completed' && good.error === null && good.background === false
    const outputs = { greeting: 'Hello, Ada', name: 'Ada' }
    expect(
      right && isSameJson(good.outputs, outputs),
      'a completed run is not reported as completed',
      { outputs },
      good,
    )
    const bad = await runOverHttp(t, 'failing', { a: 1 })
    const { message, type } = mapOf(bad.error)
    expect(
      bad.status === 'failed' && Boolean(message) && Boolean(type),
      'a failed run is not reported as failed',
      {},
      bad,
    )
  },
  'server.runs.http-parameters': async (t) => {
    t.requireOperations('runWorkflow')
    const findings = new CheckFindings()
    const { id } = await storeSampleWorkflow(t, 'limits')
    for (const params of [{}, { count: 'many' }, { count: 3, odd: 1 }, { count: 9 }]) {
      const answer = await t.call('runWorkflow', { values: { id } }, { json: { params } })
      const { type, problems } = mapOf(mapOf(answer.body).error)
      const right = answer.status === 422 && type === 'invalid_parameters' && listOf(problems).length > 0
      findings.addCase(right, () => ({ finding: `wrong parameters are ${answer.status}`, ...toEvidenceParts(answer) }))
    }
    findings.throwIfBroken('')
  },
  'server.runs.http-background': async (t) => {
    t.requireOperations('runWorkflow')
    const { id } = await storeSampleWorkflow(t, 'greeting')
    const json = { params: { name: 'Ada' }, background: true }
    const answer = await t.callExpecting('runWorkflow', 202, { values: { id } }, { json })
    const { status, outputs, error, background, message_count, job_id } = mapOf(answer.body)
    const empty = isSameJson(
      { outputs, error, background, message_count },
      { outputs: {}, error: null, background: true, message_count: 0 },
    )
    expect(
      empty && ['accepted', 'queued'].includes(String(status)),
      'the answer is not that of a run in the background',
      json,
      answer.body,
    )
    if (t.hasOperation('getJob') || t.hasOperation('getJobSnapshot')) await waitForJobEnd(t, String(job_id))
  },
}

async function runOverHttp(t: SuiteContext, name: 'greeting' | 'failing', params: JsonMap): Promise<JsonMap> {
  const { id } = await storeSampleWorkflow(t, name)
  return mapOf((await t.callExpecting('runWorkflow', 200, { values: { id } }, { json: { params } })).body)
}

function isJobUpdate(frame: JsonMap, job_id: string): boolean {
  return frame.type === 'job_update' && frame.job_id === job_id
}

function listJobUpdates(frames: readonly JsonMap[], job_id: string): JsonMap[] {
  return frames.filter((frame) => isJobUpdate(frame, job_id))
}

interface SocketRun {
  socket: SuiteSocket
  job_id: string
  frames: JsonMap[]
}

function runOverSocket(t: SuiteContext): Promise<SocketRun> {
  t.requireCommands('run_job')
  return t.memoize('socket run', async () => {
    const { id } = await storeSampleWorkflow(t, 'greeting')
    const socket = await t.openSocket()
    const job_id = `conformance-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
    t.jobs.add(job_id)
    socket.send({ command: 'run_job', data: { job_id, workflow_id: id, params: { name: 'Ada' } } })
    await socket.waitForFrame('the end of the run', (frame) => isJobUpdate(frame, job_id) && isTerminal(frame))
    await socket.waitUntilAnswered()
    return { socket, job_id, frames: socket.frames.map(({ body }) => body) }
  })
}

async function checkReconnect(t: SuiteContext): Promise<void> {
  t.requireCommands('reconnect_job')
  const { job_id } = await runOverSocket(t)
  const before = t.hasOperation('getJob') || t.hasOperation('getJobSnapshot') ? (await readJob(t, job_id)).body : null
  const socket = await t.openSocket()
  for (let times = 0; times < 2; times++) {
    const from = socket.frames.length
    socket.send({ command: 'reconnect_job', data: { job_id } })
    const resumed = await socket.waitForFrame(
      'job_resumed',
      (frame) => frame.type === 'job_resumed' && frame.job_id === job_id,
      from,
    )
    expect(resumed.status === 'completed', 'job_resumed has the wrong status', { job_id }, resumed)
    await socket.waitForFrame('the state', (frame) => isJobUpdate(frame, job_id) && frame.status === 'completed', from)
  }
  await socket.waitUntilAnswered()
  const running = listJobUpdates(
    socket.frames.map(({ body }) => body),
    job_id,
  ).filter(({ status }) => status === 'running')
  const after = before === null ? null : (await readJob(t, job_id)).body
  expect(
    running.length === 0 && isSameJson(before, after),
    'reconnecting started a job',
    { job_id },
    { running, after },
  )
}
