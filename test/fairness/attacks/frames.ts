// Many small frames and requests at once. Each of them costs little.
import type { Socket } from 'node:net'
import type WebSocket from 'ws'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { AttackOf } from '../kit.ts'

const sized = (full: number, share: number) => Math.max(1, Math.floor(full * share))

/** Below the default of SVC_WS_RATE_LIMIT_MAX. */
const FRAMES = 150

/** Resolves after so many messages, or when the server closes the socket, as it does where a client sends too much. */
function answered(socket: WebSocket, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = 0
  const heard = () => {
    if (++seen === count) resolve()
  }
  socket.on('message', heard).once('close', resolve)
  if (socket.readyState !== socket.OPEN) resolve()
  return promise.finally(() => socket.off('message', heard).off('close', resolve))
}

/** Repeats a command on many sockets that are already open. */
const commands =
  (what: string, sockets: number, frame: (at: number) => object): AttackOf =>
  (share) => {
    const count = sized(sockets, share)
    const frames = Array.from({ length: FRAMES }, (_, at) => JSON.stringify(frame(at)))
    const open: WebSocket[] = []
    return {
      name: `${FRAMES} times ${what} on each of ${count} sockets`,
      async prepare(attacker) {
        for (let at = 0; at < count; at++) open.push(await attacker.socket())
      },
      async strike(attacker) {
        for (const [at, { readyState, OPEN }] of open.entries())
          if (readyState !== OPEN) open[at] = await attacker.socket()
        const answers = open.map((socket) => answered(socket, FRAMES))
        for (const socket of open) for (const text of frames) socket.send(text)
        await Promise.all(answers)
      },
    }
  }

const states = commands('get_status', 200, () => ({ command: 'get_status', data: {} }))
const inventories = commands('list_nodes', 5, (at) => ({ command: 'list_nodes', request_id: `r${at}`, data: {} }))

/** A node that waits for its stream, with so many own values. */
function waitingNode(count: number): Graph {
  const names = Array.from({ length: count }, (_, at) => `k${at}`)
  return {
    nodes: [
      { id: 'in', type: 'input.String', data: { name: 'in', stream: true } },
      {
        id: 'prompt',
        type: 'prompt.Template',
        data: Object.fromEntries(names.map((name) => [name, 1])),
        dynamic_properties: Object.fromEntries(names.map((name) => [name, { type: 'int' }])),
      },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [
      { source: 'in', sourceHandle: 'output', target: 'prompt', targetHandle: 'template' },
      { source: 'prompt', sourceHandle: 'prompt', target: 'out', targetHandle: 'value' },
    ],
  }
}

/** Changes one value, or all values, of a node with many values. */
const changes =
  (what: string, values: number, changed: number): AttackOf =>
  (share) => {
    const count = sized(values, share)
    const names = Array.from({ length: Math.min(changed, count) }, (_, at) => `k${at}`)
    let workflow_id = ''
    return {
      name: `${FRAMES} changes of ${what} of a node with ${count} values`,
      async prepare(attacker) {
        workflow_id = await attacker.store(waitingNode(count))
      },
      async strike(attacker) {
        const socket = await attacker.socket()
        const job_id = `job-${crypto.randomUUID()}`
        const send = (command: string, data: object) => socket.send(JSON.stringify({ command, data }))
        const accepted = answered(socket, 1)
        send('run_job', { job_id, workflow_id })
        await accepted
        const changed = answered(socket, FRAMES)
        for (let at = 0; at < FRAMES; at++)
          send('update_node_properties', {
            job_id,
            node_id: 'prompt',
            properties: Object.fromEntries(names.map((name) => [name, at])),
          })
        await changed
        const cancelled = answered(socket, 1)
        send('cancel_job', { job_id })
        await cancelled
        socket.terminate()
      },
    }
  }

/** Empty frames, as many as fit into so many bytes, sent at once on each of many sockets. */
const flood =
  (what: string, frame: readonly number[]): AttackOf =>
  (share) => {
    const count = sized(100, Math.min(1, 2 * share))
    const bytes = Buffer.concat(Array.from({ length: Math.floor(300_000 / frame.length) }, () => Buffer.from(frame)))
    return {
      name: `${bytes.length} bytes of ${what} on each of ${count} sockets`,
      async strike(attacker) {
        const open = await Promise.all(Array.from({ length: count }, () => attacker.socket()))
        const answers = open.map((socket) => answered(socket, 1))
        for (const socket of open) {
          ;(socket as unknown as { readonly _socket: Socket })._socket.write(bytes)
          socket.send('{"command":"ping"}')
        }
        await Promise.all(answers)
        for (const socket of open) socket.terminate()
      },
    }
  }

/** With a mask of zeros (RFC 6455, section 5.2). */
const PING = [0x89, 0x80, 0, 0, 0, 0]
const PONG = [0x8a, 0x80, 0, 0, 0, 0]

/** Pipelined requests, as many as may wait on a connection. */
const pipelined: AttackOf = (share) => {
  const count = sized(100, Math.min(1, 2 * share))
  return {
    name: `${count} requests for all node types in one packet`,
    strike: (attacker) => attacker.pipelined('/api/nodes/metadata', count),
  }
}

/** As many as fit into one packet. All but the first hundred are refused. */
const refused: AttackOf = (share) => {
  const count = sized(1_800, Math.min(1, 2 * share))
  return {
    name: `${count} requests of no caller in one packet`,
    strike: (attacker) => attacker.pipelined('/health', count, true),
  }
}

const CONNECTIONS = 300

/** The same request on many connections at once. */
const burst =
  (what: string, status: number, path: string, body?: string, by_letters = false): AttackOf =>
  (share) => {
    const count = sized(CONNECTIONS, Math.min(1, 5 * share))
    return {
      name: `${count} connections at once that each ask for ${what}`,
      async strike(attacker) {
        const others = (await attacker.burst(path, count, body, by_letters)).filter((one) => one !== status)
        if (others.length > 0) throw new Error(`answered ${others}`)
      },
    }
  }

/** A body below the size for a validation thread. The run has no such parameter. */
const objects = `{"params":{"in":[${'{},'.repeat(60_000)}{}]}}`

export const frames: readonly AttackOf[] = [
  states,
  inventories,
  pipelined,
  refused,
  changes('one', 20_000, 1),
  changes('all', 20_000, Number.POSITIVE_INFINITY),
  flood('pings', PING),
  flood('pongs', PONG),
  burst('a run with a body in chunks of a byte each', 400, '/api/workflows/greeting/run', ' '.repeat(5_000), true),
  burst('all node types', 200, '/api/nodes/metadata'),
  burst(`a run with ${objects.length} bytes of objects`, 422, '/api/workflows/greeting/run', objects),
]
