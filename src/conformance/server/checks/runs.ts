// Runs by `run_job` on the socket, and over HTTP in one request.

import { ended, isTerminal, readJob, workflow } from '../jobs.ts'
import { type JsonMap, listOf, mapOf, same } from '../json.ts'
import type { Socket } from '../socket.ts'
import { shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'

/** Frames that tell a persisted event, in a run that nobody reconnects to and that waits for no place. */
const PERSISTED: ReadonlySet<string> = new Set(['job_update', 'node_update', 'output_update'])
const PROVISIONAL: ReadonlySet<string> = new Set(['edge_update', 'node_progress', 'chunk', 'log_update'])

export const runChecks: ChecksOf<'runs'> = {
  'server.runs.acknowledged': async (t) => {
    const { frames, job_id } = await socketRun(t)
    const ack = frames.find(({ type, job_id: named }) => type === undefined && named === job_id)
    expect(typeof ack?.message === 'string', 'run_job is not acknowledged with its job_id', { job_id }, frames[0])
    const strays = frames.filter(
      (frame) => /^(job|node|output|edge)_update$|^chunk$/.test(String(frame.type)) && frame.job_id !== job_id,
    )
    expect(strays.length === 0, 'frames of the job do not carry its id', { job_id }, strays)
  },
  'server.runs.one-running-one-terminal': async (t) => {
    const { frames, job_id } = await socketRun(t)
    const statuses = updates(frames, job_id).map(({ status }) => status)
    const running = statuses.filter((status) => status === 'running')
    const terminal = updates(frames, job_id).filter(isTerminal)
    const right = running.length === 1 && terminal.length === 1 && statuses.at(-1) === 'completed'
    expect(right, 'there is not one running and one terminal job_update, in this order', { job_id }, statuses)
  },
  'server.runs.sequences': async (t) => {
    const { frames, job_id } = await socketRun(t)
    const own = frames.filter((frame) => frame.job_id === job_id)
    const told = own.filter(({ type }) => PERSISTED.has(String(type)))
    const sequences = told.map(({ sequence }) => Number(sequence ?? 0))
    const rise = sequences.every((sequence, at) => sequence > (sequences[at - 1] ?? 0))
    expect(rise, 'the sequences of the frames do not rise, or one of these has none', { job_id }, told)
    const others = own.filter(({ type, sequence }) => PROVISIONAL.has(String(type)) && (sequence ?? null) !== null)
    expect(others.length === 0, 'a provisional frame has a sequence', { job_id }, others)
    if (!t.serves('getJob') && !t.serves('getJobSnapshot')) return
    const { last_sequence } = mapOf((await readJob(t, job_id)).body)
    expect(
      last_sequence === sequences.at(-1),
      'the end has not the sequence of the last event',
      { last_sequence },
      told,
    )
  },
  'server.runs.outputs-are-lists': async (t) => {
    const { frames, job_id } = await socketRun(t)
    const last = updates(frames, job_id).find(({ status }) => status === 'completed')
    const { outputs } = mapOf(last?.result)
    expect(
      same(outputs, { greeting: ['Hello, Ada'], name: ['Ada'] }),
      'the outputs are not lists of what the graph gives',
      {},
      last,
    )
  },
  'server.runs.cancel-unknown': async (t) => {
    t.needsCommands('cancel_job')
    const socket = await t.socket()
    const job_id = 'conformance-unknown'
    socket.send({ command: 'cancel_job', data: { job_id } })
    const refusal = await socket.next(
      'unknown_job',
      (frame) => frame.error === 'unknown_job' && frame.job_id === job_id,
    )
    const update = await socket.next(
      'a job_update failed',
      (frame) => isUpdate(frame, job_id) && frame.status === 'failed',
    )
    for (const said of [refusal, update])
      expect(
        said.code === 'JOB_NOT_FOUND' && typeof said.message === 'string',
        'the refusal says no code or no message',
        { code: 'JOB_NOT_FOUND' },
        said,
      )
  },
  'server.runs.reconnect': reconnect,
  'server.runs.http-result': async (t) => {
    t.needs('runWorkflow')
    const good = await httpRun(t, 'greeting', { name: 'Ada' })
    const right = good.status === 'completed' && good.error === null && good.background === false
    const outputs = { greeting: 'Hello, Ada', name: 'Ada' }
    expect(right && same(good.outputs, outputs), 'a run that completes is not told as such', { outputs }, good)
    const bad = await httpRun(t, 'failing', { a: 1 })
    const { message, type } = mapOf(bad.error)
    expect(
      bad.status === 'failed' && Boolean(message) && Boolean(type),
      'a run that fails is not told as such',
      {},
      bad,
    )
  },
  'server.runs.http-parameters': async (t) => {
    t.needs('runWorkflow')
    const findings = new Findings()
    const { id } = await workflow(t, 'limits')
    for (const params of [{}, { count: 'many' }, { count: 3, odd: 1 }, { count: 9 }]) {
      const answer = await t.call('runWorkflow', { values: { id } }, { json: { params } })
      const { type, problems } = mapOf(mapOf(answer.body).error)
      const right = answer.status === 422 && type === 'invalid_parameters' && listOf(problems).length > 0
      findings.see(right, () => ({ finding: `wrong parameters are ${answer.status}`, ...shown(answer) }))
    }
    findings.settle('')
  },
  'server.runs.http-background': async (t) => {
    t.needs('runWorkflow')
    const { id } = await workflow(t, 'greeting')
    const json = { params: { name: 'Ada' }, background: true }
    const answer = await t.good('runWorkflow', 202, { values: { id } }, { json })
    const { status, outputs, error, background, message_count, job_id } = mapOf(answer.body)
    const empty = same(
      { outputs, error, background, message_count },
      { outputs: {}, error: null, background: true, message_count: 0 },
    )
    expect(
      empty && ['accepted', 'queued'].includes(String(status)),
      'it is no run in the background',
      json,
      answer.body,
    )
    if (t.serves('getJob') || t.serves('getJobSnapshot')) await ended(t, String(job_id))
  },
}

async function httpRun(t: Trial, name: 'greeting' | 'failing', params: JsonMap): Promise<JsonMap> {
  const { id } = await workflow(t, name)
  return mapOf((await t.good('runWorkflow', 200, { values: { id } }, { json: { params } })).body)
}

function isUpdate(frame: JsonMap, job_id: string): boolean {
  return frame.type === 'job_update' && frame.job_id === job_id
}

function updates(frames: readonly JsonMap[], job_id: string): JsonMap[] {
  return frames.filter((frame) => isUpdate(frame, job_id))
}

interface SocketRun {
  socket: Socket
  job_id: string
  frames: JsonMap[]
}

function socketRun(t: Trial): Promise<SocketRun> {
  t.needsCommands('run_job')
  return t.once('socket run', async () => {
    const { id } = await workflow(t, 'greeting')
    const socket = await t.socket()
    const job_id = `conformance-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
    t.jobs.add(job_id)
    socket.send({ command: 'run_job', data: { job_id, workflow_id: id, params: { name: 'Ada' } } })
    await socket.next('the end of the run', (frame) => isUpdate(frame, job_id) && isTerminal(frame))
    await socket.settled()
    return { socket, job_id, frames: socket.frames.map(({ body }) => body) }
  })
}

async function reconnect(t: Trial): Promise<void> {
  t.needsCommands('reconnect_job')
  const { job_id } = await socketRun(t)
  const before = t.serves('getJob') || t.serves('getJobSnapshot') ? (await readJob(t, job_id)).body : null
  const socket = await t.socket()
  for (let times = 0; times < 2; times++) {
    const from = socket.frames.length
    socket.send({ command: 'reconnect_job', data: { job_id } })
    const resumed = await socket.next(
      'job_resumed',
      (frame) => frame.type === 'job_resumed' && frame.job_id === job_id,
      from,
    )
    expect(resumed.status === 'completed', 'job_resumed tells another status', { job_id }, resumed)
    await socket.next('the state', (frame) => isUpdate(frame, job_id) && frame.status === 'completed', from)
  }
  await socket.settled()
  const running = updates(
    socket.frames.map(({ body }) => body),
    job_id,
  ).filter(({ status }) => status === 'running')
  const after = before === null ? null : (await readJob(t, job_id)).body
  expect(
    running.length === 0 && same(before, after),
    'reconnecting has started something',
    { job_id },
    { running, after },
  )
}
