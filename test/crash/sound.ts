// The evidence of a correct job: submitted, killed in its middle, recovered, completed. Tests spoil it in one point at a time.
import type { JobEvent, JobSnapshot } from '../../generated/types.ts'
import type { Frame } from '../helpers/socket.ts'
import { answerTo, type CallRecord } from './counter.ts'
import type { Evidence } from './evidence.ts'
import { Random } from './random.ts'
import { plan, type Work } from './work.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const JOB = { job_id: 'job', workflow_id: 'wf', workspace_id: null }

/** A timestamp in milliseconds after the submission. */
const time = (ms: number) => new Date(START + ms).toISOString()

const A = answerTo('POST', '/j1/a/0')
const B = answerTo('POST', `/j1/b/${A}`)
const C = answerTo('GET', `/j1/c/${B}`)
const D = answerTo('POST', `/j1/d/${C}`)

const call = (method: 'GET' | 'POST', path: string, ms: number): CallRecord => ({
  method,
  path,
  begun_at: START + ms,
  since: START + ms - 20,
  ended_at: START + ms + 50,
})

type Body = { type: string; [key: string]: unknown }
const status = (word: string): Body => ({ type: 'job_status', status: word, queue_position: null, message: null })
const node = (node_id: string, word: string): Body => ({
  type: 'node_status',
  node_id,
  node_type: 'http.Request',
  status: word,
  progress: null,
})
const output = (output_name: string, value: string): Body => ({ type: 'output_update', output_name, value })

/** The history: each event with its time. The kill is at 300 ms. */
const HISTORY: readonly (readonly [number, Body])[] = [
  [0, status('accepted')],
  [1, status('running')],
  [10, node('a', 'running')],
  [100, node('a', 'completed')],
  [100, output('first', A)],
  [110, node('b', 'running')],
  [200, node('b', 'completed')],
  [210, node('c', 'running')],
  [1_000, status('recovering')],
  [1_001, status('running')],
  [1_200, node('c', 'completed')],
  [1_210, node('d', 'running')],
  [1_300, node('d', 'completed')],
  [1_300, output('last', D)],
]

function snapshot(last_sequence: number, more: object): JobSnapshot {
  const [created_at, updated_at] = [time(0), time(1_301)]
  const none = { queue_position: null, finished_at: null, result: null, error: null, waiting: [] }
  const fixed = {
    version: 1,
    ...JOB,
    workflow_etag: null,
    created_at,
    updated_at,
    started_at: time(1),
    preflight: null,
    result_parts: null,
  }
  return { ...fixed, ...none, last_sequence, ...more } as unknown as JobSnapshot
}

function soundWork(): Work {
  return { ...plan('writing', 'j1', '127.0.0.1:1', new Random('sound')), doomed: false }
}

export function soundEvidence(): Evidence {
  const result = {
    version: 1,
    job_id: 'job',
    completed_at: time(1_301),
    outputs: { first: A, last: D },
    assets: [],
    cost: null,
    provenance: { workflow_id: 'wf', workflow_revision: null, inputs: {}, providers: [], models: [], seed: null },
  }
  const final = snapshot(HISTORY.length + 1, { status: 'completed', finished_at: time(1_301), result })
  const bodies = [...HISTORY, [1_301, { type: 'job_terminal', status: 'completed', snapshot: final }] as const]
  const log = bodies.map(([ms, body], at) => ({ sequence: at + 1, ...JOB, timestamp: time(ms), ...body }) as JobEvent)
  const evidence: Evidence = {
    job_id: 'job',
    work: soundWork(),
    acknowledged: true,
    snapshot: final,
    result: null,
    seen: [snapshot(2, { status: 'running' })],
    log,
    tapes: [
      { follower: 'an SSE follower', events: log, whole: true },
      { follower: 'a polling follower', events: log, whole: true },
    ],
    sockets: sockets(log),
    calls: [
      call('POST', '/j1/a/0', 10),
      call('POST', `/j1/b/${A}`, 110),
      call('GET', `/j1/c/${B}`, 210),
      call('GET', `/j1/c/${B}`, 1_010),
      call('POST', `/j1/d/${C}`, 1_210),
    ],
    pushed: [],
    maybe_pushed: [],
    saved: [],
    kills: [{ at: START + 300, until: START + 990, status: 'running' }],
    cancelled: false,
    cancel_wanted: false,
    retry_of: null,
    shadowed: false,
    short: false,
  }
  // The parts share no objects, so that each can be spoilt separately.
  return JSON.parse(JSON.stringify(evidence)) as Evidence
}

/** A socket from the start to the kill, and again from event 8 to the end. */
function sockets(log: readonly JobEvent[]): Evidence['sockets'] {
  const frames = (from: number, to: number): Frame[] => log.slice(from, to).flatMap(frameOf)
  const resumed: Frame[] = [
    { type: 'job_resumed', job_id: 'job', status: 'running', last_sequence: 10 },
    { type: 'job_update', job_id: 'job', status: 'running' },
    { type: 'output_update', job_id: 'job', output_name: 'first', value: A, disposition: 'replace' },
  ]
  return [
    { socket: 'the first socket', asked: null, frames: frames(0, 8), whole: false },
    { socket: 'the first socket', asked: 0, frames: [...resumed, ...frames(10, log.length)], whole: true },
  ]
}

function frameOf(event: JobEvent): Frame[] {
  const job_id = 'job'
  if (event.type === 'output_update') {
    const { output_name } = event
    return [
      { type: 'output_update', job_id, output_name, value: 'value' in event && event.value, disposition: 'append' },
    ]
  }
  if (event.type === 'node_status')
    return [{ type: 'node_update', job_id, node_id: event.node_id, status: event.status }]
  if (event.type === 'job_terminal') return [{ type: 'job_update', job_id, status: event.status }]
  return event.status === 'running' ? [{ type: 'job_update', job_id, status: 'running' }] : []
}
