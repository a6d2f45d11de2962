// Many concurrent readers of one user. Each takes only little of each turn of the event loop.
import { once } from 'node:events'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { passing, sized } from './values.ts'

const READERS = 40

const reading =
  (what: string, prepare: (attacker: User, share: number) => Promise<(attacker: User) => Promise<unknown>>): AttackOf =>
  (share) => {
    let strike: (attacker: User) => Promise<unknown>
    return {
      name: `${READERS} times ${what}`,
      side_by_side: READERS,
      async prepare(attacker) {
        strike = await prepare(attacker, share)
      },
      strike: (attacker) => strike(attacker),
    }
  }

/** Nodes that each have a requirement which a preflight looks up. */
function needy(count: number): Graph {
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `n${at}`,
    type: 'text.Concat',
    data: { a: `{{secret:NAME_${at % 100}}} asset://${crypto.randomUUID()}`, b: `text ${at}` },
  }))
  return { nodes, edges: [] }
}

const preflights = reading('a preflight of many nodes', async (attacker, share) => {
  const workflow_id = await attacker.store(needy(sized(20_000, share)))
  const body = JSON.stringify({ workflow_id, level: 'execution', inputs: {} })
  return (user) => user.expect(200, 'POST', '/api/sdk/v1/preflight', body)
})

const wide = (count: number): Graph => ({
  nodes: Array.from({ length: count }, (_, at) => ({
    id: `n${at}`,
    type: 'input.Any',
    data: { name: `input_${at}`, value: [at, { text: 'wörd' }] },
  })),
  edges: [],
})

const interfaces = reading('a hundred interfaces', async (attacker, share) => {
  const ids: string[] = []
  for (let at = 0; at < 100; at++) ids.push(await attacker.store(wide(sized(1_000, share))))
  const body = JSON.stringify({ ids })
  return (user) => user.expect(200, 'POST', '/api/sdk/v1/workflow-interfaces', body)
})

/** A job with so many events that are not ASCII. */
async function eventful(attacker: User, count: number): Promise<string> {
  const graph = {
    nodes: [
      { id: 'numbers', type: 'control.Numbers', data: { from: 1, to: count } },
      {
        id: 'text',
        type: 'text.Template',
        data: { template: 'é {{value}} '.repeat(20) },
        dynamic_properties: { value: { type: 'float' } },
      },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [
      { source: 'numbers', sourceHandle: 'item', target: 'text', targetHandle: 'value' },
      { source: 'text', sourceHandle: 'output', target: 'out', targetHandle: 'value' },
    ],
  }
  const id = await attacker.store(graph)
  const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
  return /"job_id":"([^"]+)"/.exec(text)![1]!
}

const events = (what: string, accept: string) =>
  reading(`${what} of a long job`, async (attacker, share) => {
    const job_id = await eventful(attacker, sized(10_000, share))
    return (user) => user.expect(200, 'GET', `/api/jobs/${job_id}/events`, undefined, { Accept: accept })
  })

const following = (command: string, last: RegExp) =>
  reading(`the history of a long job by ${command}`, async (attacker, share) => {
    const job_id = await eventful(attacker, sized(10_000, share))
    const frame = JSON.stringify({ command, request_id: 'request', data: { job_id } })
    return async (user) => {
      const socket = await user.socket()
      socket.on('message', (data: Buffer) => {
        if (last.test(data.toString('latin1', 0, 400))) socket.terminate()
      })
      socket.send(frame)
      await once(socket, 'close')
    }
  })

const versions = reading('fifty versions with their graphs', async (attacker, share) => {
  const id = await attacker.store(wide(10))
  for (let at = 0; at < 50; at++) {
    const graph = wide(sized(2_000, share) + at)
    await attacker.expect(200, 'PUT', `/api/workflows/${id}`, JSON.stringify({ name: 'Workflow', graph }))
  }
  return (user) => user.expect(200, 'GET', `/api/workflows/${id}/versions?fields=full&limit=50`)
})

const threads = reading('a thread of a thousand messages', async (attacker, share) => {
  const { id } = JSON.parse((await attacker.expect(201, 'POST', '/api/threads', '{}')).text) as { id: string }
  const count = sized(1_000, share)
  const body = JSON.stringify({ content: 'é"\n'.repeat(2_000) })
  for (let at = 0; at < count; at++) await attacker.expect(201, 'POST', `/api/threads/${id}/messages`, body)
  return async (user) => {
    const socket = await user.socket()
    let messages = 0
    socket.on('message', (data: Buffer) => {
      if (/type.{1,3}message.?/s.test(data.toString('latin1', 0, 60)) && ++messages === count) socket.terminate()
    })
    socket.send(JSON.stringify({ command: 'resume_chat', data: { thread_id: id, after_sequence: 0 } }))
    await once(socket, 'close')
  }
})

const models = reading('the models, with a thousand workflows', async (attacker, share) => {
  for (let at = 0; at < sized(1_000, share); at++) await attacker.store(wide(20))
  return (user) => user.expect(200, 'GET', '/v1/models')
})

const properties = reading('changes of the properties of a node', async (attacker) => {
  const graph = {
    nodes: [
      { id: 'in', type: 'input.Any', data: { name: 'in', stream: true } },
      { id: 'text', type: 'text.Template', data: { template: '' } },
    ],
    edges: [],
  }
  const text = 'é"\n'.repeat(20_000)
  const id = await attacker.store(graph)
  return async (user) => {
    const socket = await user.socket()
    const job_id = `job-${crypto.randomUUID()}`
    socket.send(JSON.stringify({ command: 'run_job', data: { workflow_id: id, job_id } }))
    const data = { job_id, node_id: 'text', properties: { template: text } }
    for (let at = 0; at < 40; at++) socket.send(JSON.stringify({ command: 'update_node_properties', data }))
    socket.send(JSON.stringify({ command: 'cancel_job', data: { job_id } }))
    socket.on('message', (data: Buffer) => {
      const head = data.toString('latin1', 0, 300)
      if (/cancelled/.test(head)) socket.terminate()
    })
    await once(socket, 'close')
  }
})

/** A text full of the beginnings of its owner's secrets. */
const secrets = reading('a run with a text that resembles secrets', async (attacker, share) => {
  const beginning = `sk-proj-${'abcdefgh'.repeat(12)}`
  for (let at = 0; at < sized(135, share); at++) {
    const body = JSON.stringify({ value: `${beginning}${String(at).padStart(4, '0')}${'x'.repeat(20)}` })
    const { status, text } = await attacker.send('PUT', `/api/secrets/KEY_${at}`, body)
    if (status >= 300) throw new Error(text)
  }
  const id = await attacker.store(passing(false))
  const body = JSON.stringify({ params: { in: `${beginning}zzzz`.repeat(sized(2_500, share)) } })
  return (user) => user.expect(200, 'POST', `/api/workflows/${id}/run`, body)
})

/** The most secrets, each of them long, and a text of their common beginning. */
const longSecrets = reading('a run with a text of what long secrets begin with', async (attacker) => {
  const beginning = 'a'.repeat(1_060)
  for (let at = 0; at < 980; at++) {
    const body = JSON.stringify({ value: `${beginning}${at + 100_000}` })
    const { status, text } = await attacker.send('PUT', `/api/secrets/LONG_${at}`, body)
    if (status >= 300) throw new Error(text)
  }
  const id = await attacker.store(passing(false))
  const body = JSON.stringify({ params: { in: 'a'.repeat(20_000) } })
  return (user) => user.expect(200, 'POST', `/api/workflows/${id}/run`, body)
})

export const many: readonly AttackOf[] = [
  preflights,
  interfaces,
  events('the events', 'application/json'),
  events('the event stream', 'text/event-stream'),
  following('subscribe_job', /job_terminal/),
  following('reconnect_job', /job_update.{1,30}completed/s),
  versions,
  threads,
  models,
  properties,
  secrets,
  longSecrets,
]
