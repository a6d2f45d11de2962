// Many sockets and event streams of one user that get the same data: the events of one job, and the pieces of one answer.
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type WebSocket from 'ws'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { sized } from './values.ts'

/** Opened at the same time. The system refuses more pending connections. */
const OPENED_AT_ONCE = 50
const SOCKETS = 300
const STREAMS = 1_000
/** The most commands of a socket in a second. All sockets together follow no more jobs than one user may. */
const FOLLOWED = 190
const LEAVING = 75

async function openSockets(attacker: User, count: number): Promise<WebSocket[]> {
  const open: WebSocket[] = []
  while (open.length < count) {
    const some = Math.min(OPENED_AT_ONCE, count - open.length)
    open.push(...(await Promise.all(Array.from({ length: some }, () => attacker.socket()))))
  }
  return open
}

/** Resolves with the first message of a socket that holds all of these texts near its beginning. */
function heard(socket: WebSocket, ...texts: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const hear = (data: Buffer) => {
    const text = data.toString('latin1', 0, 800)
    if (!texts.every((one) => text.includes(one))) return
    socket.off('message', hear)
    resolve()
  }
  socket.on('message', hear).once('close', (code) => reject(new Error(`a socket was closed with ${code}`)))
  return promise
}

const command = (name: string, data: object) => JSON.stringify({ command: name, request_id: 'r', data })

/** Yields as many numbers as it receives. */
const COUNTING: Graph = {
  nodes: [
    { id: 'in', type: 'input.Integer', data: { name: 'in', stream: true } },
    { id: 'numbers', type: 'control.Numbers', data: {} },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
  ],
  edges: [
    { source: 'in', sourceHandle: 'output', target: 'numbers', targetHandle: 'to' },
    { source: 'numbers', sourceHandle: 'item', target: 'out', targetHandle: 'value' },
  ],
}

/** A command, and texts of the first and the last frame that follow it. */
interface Following {
  readonly follow: string
  readonly begins: string
  readonly ends: readonly string[]
}

/** A job that waits for its number, and sockets that follow it by one command. */
function followed(what: string, { follow, begins, ends }: Following, share: number): Attack {
  const count = sized(SOCKETS, share)
  const to = sized(2_000, share)
  let workflow_id = ''
  return {
    name: `a job of ${to} events that ${count} sockets ${what}`,
    async prepare(attacker) {
      workflow_id = await attacker.store(COUNTING)
    },
    async strike(attacker) {
      const open = await openSockets(attacker, count + 1)
      const [first, ...others] = open
      const job_id = `job-${crypto.randomUUID()}`
      const accepted = heard(first!, 'accepted')
      first!.send(command('run_job', { workflow_id, job_id, params: {} }))
      await accepted
      const follows = others.map((socket) => heard(socket, begins))
      for (const socket of others) socket.send(command(follow, { job_id }))
      await Promise.all(follows)
      const end = others.map((socket) => heard(socket, ...ends))
      first!.send(command('stream_input', { job_id, input: 'in', value: to }))
      first!.send(command('end_input_stream', { job_id, input: 'in' }))
      await Promise.all(end)
      await closed(open)
    },
  }
}

async function closed(sockets: readonly WebSocket[]): Promise<void> {
  const ends = sockets.map((socket) => once(socket.removeAllListeners(), 'close'))
  for (const socket of sockets) socket.terminate()
  await Promise.all(ends)
}

const watching: AttackOf = (share) =>
  followed('watch', { follow: 'reconnect_job', begins: 'job_resumed', ends: ['job_update', 'completed'] }, share)

const subscribing: AttackOf = (share) =>
  followed('are subscribed to', { follow: 'subscribe_job', begins: 'rpc_response', ends: ['job_terminal'] }, share)

/** An answer in very many pieces. */
const listening: AttackOf = (share) => {
  const count = sized(SOCKETS, share)
  const words = 1_000
  return {
    name: `an answer of ${words} pieces that ${count} sockets are told`,
    async strike(attacker) {
      const { text } = await attacker.expect(201, 'POST', '/api/threads', '{}')
      const { id: thread_id } = JSON.parse(text) as { id: string }
      const open = await openSockets(attacker, count)
      const follows = open.map((socket) => heard(socket, 'chat_resumed'))
      for (const socket of open) socket.send(command('resume_chat', { thread_id }))
      await Promise.all(follows)
      const ends = open.map((socket) => heard(socket, 'turn_update', 'completed'))
      const asked = { thread_id, provider: 'builtin', model: 'echo', content: 'word '.repeat(words) }
      open[0]!.send(command('chat_message', asked))
      await Promise.all(ends)
      await closed(open)
    },
  }
}

/** Opens an event stream. Resolves with a promise that resolves at its end. */
async function openStream(attacker: User, job_id: string): Promise<{ ended: Promise<unknown> }> {
  const headers = { Accept: 'text/event-stream', Connection: 'close' }
  const stream = await attacker.unread(`/api/jobs/${job_id}/events`, headers)
  await once(stream, 'data')
  stream.resume()
  return { ended: once(stream, 'close') }
}

const streaming: AttackOf = (share) => {
  const count = sized(STREAMS, share)
  const to = sized(2_000, share)
  let workflow_id = ''
  return {
    name: `a job of ${to} events that ${count} event streams tell`,
    async prepare(attacker) {
      workflow_id = await attacker.store(COUNTING)
    },
    async strike(attacker) {
      const socket = await attacker.socket()
      const job_id = `job-${crypto.randomUUID()}`
      const accepted = heard(socket, 'accepted')
      socket.send(command('run_job', { workflow_id, job_id, params: {} }))
      await accepted
      const open: { ended: Promise<unknown> }[] = []
      while (open.length < count) {
        const some = Math.min(OPENED_AT_ONCE, count - open.length)
        open.push(...(await Promise.all(Array.from({ length: some }, () => openStream(attacker, job_id)))))
      }
      socket.send(command('stream_input', { job_id, input: 'in', value: to }))
      socket.send(command('end_input_stream', { job_id, input: 'in' }))
      await Promise.all(open.map(({ ended }) => ended))
      await closed([socket])
    },
  }
}

/** A job that waits for ever. */
const WAITING: Graph = {
  nodes: [
    { id: 'ask', type: 'human.Approval', data: {} },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
  ],
  edges: [{ source: 'ask', sourceHandle: 'approved', target: 'out', targetHandle: 'value' }],
}

/** Resolves when a socket follows all of these jobs. */
function followAll(socket: WebSocket, jobs: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let states = 0
  socket.on('message', (data: Buffer) => {
    if (data.includes('job_update') && ++states === jobs.length) resolve()
  })
  socket.once('close', (code) => reject(new Error(`a socket was closed with ${code}`)))
  for (const job_id of jobs) socket.send(command('reconnect_job', { job_id }))
  return promise
}

const leaving: AttackOf = () => {
  const jobs: string[] = []
  return {
    name: `${LEAVING} sockets that follow ${FOLLOWED} jobs each and close at once`,
    async prepare(attacker) {
      const id = await attacker.store(WAITING)
      while (jobs.length < FOLLOWED) {
        const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
        jobs.push((JSON.parse(text) as { job_id: string }).job_id)
      }
    },
    async strike(attacker) {
      const open = await openSockets(attacker, LEAVING)
      await Promise.all(open.map((socket) => followAll(socket, jobs)))
      await closed(open)
      await pause(500)
    },
  }
}

/** Yields pieces of a text, and then waits for longer than the attack lasts. */
const SPEAKING: Graph = {
  nodes: [
    { id: 'in', type: 'input.String', data: { name: 'text', value: '' } },
    { id: 'numbers', type: 'control.Numbers', data: { from: 1, to: 14 } },
    {
      id: 'piece',
      type: 'text.Template',
      data: { template: `${'é\u0001"'.repeat(333_000)}{{value}}` },
      dynamic_properties: { value: { type: 'float' } },
    },
    { id: 'wait', type: 'control.Delay', data: { seconds: 55 } },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
    { id: 'later', type: 'output.Output', data: { name: 'later' } },
  ],
  edges: [
    { source: 'numbers', sourceHandle: 'item', target: 'piece', targetHandle: 'value' },
    { source: 'piece', sourceHandle: 'output', target: 'out', targetHandle: 'value' },
    { source: 'in', sourceHandle: 'output', target: 'wait', targetHandle: 'value' },
    { source: 'wait', sourceHandle: 'output', target: 'later', targetHandle: 'value' },
  ],
}
/** The approximate bytes of its text as JSON. */
const SPOKEN = 40_000_000

/** Resolves when a socket has received so many bytes. */
function told(socket: WebSocket, bytes: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let all = 0
  socket.on('message', (data: Buffer) => {
    all += data.length
    if (all >= bytes) resolve()
  })
  socket.once('close', (code) => reject(new Error(`a socket was closed with ${code}`)))
  return promise
}

export const resuming: AttackOf = () => {
  let thread_id = ''
  const open = async (attacker: User) => {
    const socket = await attacker.socket()
    socket.send(JSON.stringify({ command: 'set_mode', data: { mode: 'text' } }))
    return { socket, spoken: told(socket, SPOKEN) }
  }
  return {
    name: 'a long message under way that sockets come back to',
    async prepare(attacker) {
      const workflow_id = await attacker.store(SPEAKING)
      const { text } = await attacker.expect(201, 'POST', '/api/threads', '{}')
      thread_id = (JSON.parse(text) as { id: string }).id
      const { socket, spoken } = await open(attacker)
      socket.send(command('chat_message', { thread_id, workflow_id, content: 'Speak' }))
      await spoken
      await closed([socket])
    },
    async strike(attacker) {
      const all = await Promise.all(Array.from({ length: 5 }, () => open(attacker)))
      for (const { socket } of all) socket.send(command('resume_chat', { thread_id, after_sequence: 1 }))
      await Promise.all(all.map(({ spoken }) => spoken))
      await closed(all.map(({ socket }) => socket))
    },
  }
}

/** One value in very many outputs: a socket that comes back is told all of them. */
function manyOutputs(count: number): Graph {
  const outputs = Array.from({ length: count }, (_, at) => ({
    id: `o${at}`,
    type: 'output.Output',
    data: { name: `o${at}` },
  }))
  const edges = outputs.map(({ id }) => ({ source: 'c', sourceHandle: 'output', target: id, targetHandle: 'value' }))
  return { nodes: [{ id: 'c', type: 'constant.String', data: { value: 'a' } }, ...outputs], edges }
}

const returning: AttackOf = (share) => {
  const count = sized(33_000, share)
  let job_id = ''
  return {
    name: `a socket that comes back to a job of ${count.toLocaleString('en')} outputs`,
    async prepare(attacker) {
      const id = await attacker.store(manyOutputs(count))
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
      job_id = (JSON.parse(text) as { job_id: string }).job_id
    },
    async strike(attacker) {
      const socket = await attacker.socket()
      const end = heard(socket, 'job_update', 'completed')
      socket.send(command('reconnect_job', { job_id, after_sequence: 0 }))
      await end
      await closed([socket])
    },
  }
}

export const followers: readonly AttackOf[] = [returning, watching, subscribing, listening, streaming, leaving]
