// Large valid values: parameters of runs and values for streamed inputs, which are stored, pass through a graph and are returned.
import { once } from 'node:events'
import { encode } from '@msgpack/msgpack'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { running } from './nodes.ts'

export const sized = (full: number, share: number) => Math.max(2, Math.floor(full * share))

export function passing(stream: boolean): Graph {
  return {
    nodes: [
      { id: 'in', type: 'input.Any', data: { name: 'in', ...(stream ? { stream } : {}) } },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [{ source: 'in', sourceHandle: 'output', target: 'out', targetHandle: 'value' }],
  }
}

export const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ at, name: `row ${at}`, tags: [at % 7] }))

const params: AttackOf = (share) => {
  const body = JSON.stringify({ params: { in: rows(sized(300_000, share)) } })
  let id = ''
  return {
    name: `running with parameters of ${(body.length / 1e6).toFixed(1)} MB`,
    async prepare(attacker) {
      id = await attacker.store(passing(false))
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
      if (!/"status":"completed"/.test(text.slice(0, 300))) throw new Error(text.slice(-500))
    },
  }
}

const line: AttackOf = (share) => {
  const text = 'a=1,token=abc,'.repeat(sized(900_000, share))
  const body = JSON.stringify({ params: { in: text } })
  let id = ''
  return {
    name: `running with a text of ${(text.length / 1e6).toFixed(1)} MB in one line`,
    async prepare(attacker) {
      id = await attacker.store(passing(false))
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body),
  }
}

async function conversation(attacker: User, frames: (job_id: string) => readonly unknown[]): Promise<void> {
  const job_id = `job-${crypto.randomUUID()}`
  const socket = await attacker.socket()
  const ended = once(socket, 'close')
  socket.on('message', (data: Buffer) => {
    if (/job_update.{1,30}(?:completed|failed)/s.test(data.toString('latin1', 0, 200))) socket.terminate()
  })
  for (const frame of frames(job_id)) socket.send(frame instanceof Uint8Array ? frame : encode(frame))
  await ended
}

const pushed: AttackOf = (share) => {
  const value = rows(sized(600_000, share))
  const size = (encode(value).length / 1e6).toFixed(1)
  return {
    name: `pushing a value of ${size} MB into a streamed input`,
    strike: (attacker) =>
      conversation(attacker, (job_id) => [
        { command: 'run_job', data: { job_id, graph: passing(true), execution_options: { event_detail: 'terminal' } } },
        { command: 'stream_input', data: { job_id, input: 'in', value } },
        { command: 'end_input_stream', data: { job_id, input: 'in' } },
      ]),
  }
}

/** A firing of a node with a large value at one of its inputs, whatever the outcome. */
function firing(name: string, type: string, data: Record<string, unknown>, input: string, value: unknown): Attack {
  const body = JSON.stringify({ params: { in: value } })
  const graph: Graph = {
    nodes: [
      { id: 'in', type: 'input.Any', data: { name: 'in' } },
      { id: 'node', type, data },
    ],
    edges: [{ source: 'in', sourceHandle: 'output', target: 'node', targetHandle: input }],
  }
  let id = ''
  return {
    name,
    async prepare(attacker) {
      id = await attacker.store(graph)
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body),
  }
}

const digits = (count: number) => Array.from({ length: count }, (_, at) => at % 10)

/** The value is refused at the end, after it was created. */
const NOWHERE = { url: 'http://127.0.0.1:9/', method: 'POST' }

const sent: AttackOf = (share) => {
  const count = sized(4_900_000, share)
  return firing(`sending ${count} values as JSON`, 'http.Request', NOWHERE, 'body', digits(count))
}

const sentAsForm: AttackOf = (share) => {
  const form = { a: 'é'.repeat(sized(5_000_000, share)) }
  const name = `sending a form of ${form.a.length} characters`
  return firing(name, 'http.Request', { ...NOWHERE, body_type: 'form' }, 'body', form)
}

const conditions: AttackOf = (share) => {
  const count = sized(7_000_000, share)
  return firing(`combining ${count} conditions`, 'logic.Combine', {}, 'conditions', digits(count))
}

/** Each text has three characters in the body, and only its quotes after parsing. */
const emptyTexts: AttackOf = (share) => {
  const count = sized(5_200_000, share)
  return firing(`sorting ${count} empty texts`, 'list.Sort', {}, 'list', Array(count).fill(''))
}

const template: AttackOf = (share) => {
  const text = '{{#a}}{{/a}}'.repeat(sized(1_250_000, share))
  const name = `a template of ${(text.length / 1e6).toFixed(1)} MB`
  return firing(name, 'prompt.Template', {}, 'template', text)
}

const pattern: AttackOf = (share) => {
  const text = '{1,2}'.repeat(sized(3_000_000, share))
  return firing(`a pattern of ${(text.length / 1e6).toFixed(1)} MB`, 'regex.Match', { text: 'a' }, 'pattern', text)
}

const queried: AttackOf = (share) => {
  const table = rows(sized(250_000, share))
  const data = { sql: 'SELECT t.at, t.name, 1 AS one FROM t', max_rows: 1_000_000 }
  return firing(`a query of ${table.length} rows`, 'data.Query', data, 'tables', { t: table })
}

/** The most items that a stream may yield one by one. Each becomes an object of the date library for a moment. */
const dates: AttackOf = (share) => {
  const to = sized(500_000, share)
  const numbers = ['control.Numbers', { to }, '', 'item'] as const
  return running(`a stream of ${to} dates`, [numbers, ['date.FromUnix', {}, 'value']], '', 1)
}

/** Texts of a list that go to two streams, so that the result is twice as large. */
const streamed: AttackOf = (share) => {
  const list = Array.from({ length: sized(240, share) }, () => 'x'.repeat(64_000))
  const body = JSON.stringify({ params: { list } })
  const edge = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
    source,
    sourceHandle,
    target,
    targetHandle,
  })
  const graph: Graph = {
    nodes: [
      { id: 'in', type: 'input.List', data: { name: 'list' } },
      { id: 'each', type: 'control.ForEach', data: {} },
      { id: 'a', type: 'output.Output', data: { name: 'a' } },
      { id: 'b', type: 'output.Output', data: { name: 'b' } },
    ],
    edges: [
      edge('in', 'output', 'each', 'list'),
      edge('each', 'item', 'a', 'value'),
      edge('each', 'item', 'b', 'value'),
    ],
  }
  let id = ''
  return {
    name: `streams of ${((2 * body.length) / 1e6).toFixed(1)} MB`,
    async prepare(attacker) {
      id = await attacker.store(graph)
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
      if (!/"status":"completed"/.test(text.slice(0, 300))) throw new Error(text.slice(-500))
    },
  }
}

/** One byte in a frame, and six in JSON. */
const CONTROL = '\u001f'

/** As parameters, and in the graph. Even at half its full size it is slightly too large for an output. */
const controls: AttackOf = (share) => {
  const length = sized(12_000_000, share)
  const given = { in: Array(Math.ceil(length / 4)).fill(`a${CONTROL}`) }
  const own = passing(false)
  Object.assign(own.nodes[0]!.data!, { value: CONTROL.repeat(Math.ceil(0.46 * length)) })
  const runs = [
    { graph: passing(false), params: given },
    { graph: own, params: {} },
  ]
  return {
    name: `runs of ${(length / 1e6).toFixed(1)} MB of control characters`,
    async strike(attacker) {
      for (const run of runs)
        await conversation(attacker, (job_id) => [{ command: 'run_job', data: { job_id, ...run } }])
    },
  }
}

export const values: readonly AttackOf[] = [
  params,
  line,
  pushed,
  streamed,
  controls,
  sent,
  sentAsForm,
  conditions,
  emptyTexts,
  template,
  pattern,
  queried,
  dates,
]
