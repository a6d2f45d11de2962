// What the tests of the client share: a server that does what the test says, records of jobs, and a client that does not wait long.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { decode, encode } from '@msgpack/msgpack'
import { type WebSocket, WebSocketServer } from 'ws'
import type { JobEvent, JobSnapshot, JobStatus } from '../../generated/types.ts'
import { createClient, ServiceError } from '../../src/client/node.ts'
import type { Client, ClientOptions } from '../../src/client/public.ts'

export const JOB = 'job_1'

/** A command as it came. */
export interface Command {
  command: string
  data: Record<string, unknown>
  request_id: string
  /** The number of the socket that it came over, from 0. */
  socket: number
  /** Whether it came in a binary frame. */
  binary: boolean
}

export interface Call {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export interface Script {
  /** What `profiles.jobs` says. */
  jobs?: 'available' | 'disabled'
  /** The status that refuses an upgrade; null lets it in. */
  upgrade?: (request: IncomingMessage, count: number) => number | null
  /** Seconds that a refused upgrade asks to wait. */
  retry_after?: number
  opened?: (peer: Peer) => void
  /** By command; those of the lifecycle that are not here have an answer of their own. */
  commands?: Readonly<Record<string, (peer: Peer, command: Command) => void>>
  /** By method and path; false where the test does not care. */
  http?: (call: Call, response: ServerResponse, count: number) => unknown
}

/** One socket, as the server sees it. */
export class Peer {
  readonly number: number
  readonly ws: WebSocket
  mode: 'binary' | 'text' = 'binary'

  constructor(ws: WebSocket, number: number) {
    this.ws = ws
    this.number = number
  }

  send(frame: unknown, mode = this.mode): void {
    this.ws.send(mode === 'binary' ? encode(frame) : JSON.stringify(frame))
  }

  answer({ command, request_id }: Command, result: unknown): void {
    this.send({ type: 'rpc_response', command, request_id, result })
  }

  refuse({ command, request_id }: Command, code: string, retryable = false): void {
    const error = { code, message: `It is ${code}.`, retryable, apiCode: code }
    this.send({ type: 'rpc_response', command, request_id, error })
  }

  event(event: unknown, job_id = JOB): void {
    this.send({ type: 'job_event', job_id, event })
  }

  /** Answers a subscription with the state and replays what is asked for. */
  subscribe(command: Command, snapshot: JobSnapshot, events: readonly unknown[] = []): void {
    const after = Number(command.data.after_sequence)
    this.answer(command, {
      job_id: JOB,
      requested_after_sequence: after,
      replay_from_sequence: snapshot.last_sequence > after ? after + 1 : null,
      replay_to_sequence: snapshot.last_sequence,
      snapshot,
    })
    for (const event of events) this.event(event)
  }
}

export interface Scripted extends AsyncDisposable {
  readonly url: string
  readonly commands: Command[]
  readonly calls: Call[]
  readonly peers: Peer[]
  /** The commands of this name. */
  named(command: string): Command[]
}

export async function startScripted(script: Script): Promise<Scripted> {
  const commands: Command[] = []
  const calls: Call[] = []
  const peers: Peer[] = []
  let upgrades = 0
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => null)
    // The client went away in the middle of it.
    if (body === null) return
    const call = { method: request.method!, path: request.url!, headers: request.headers, body }
    calls.push(call)
    const count = calls.filter(({ path }) => path === call.path).length
    if ((await script.http?.(call, response, count)) !== undefined || response.headersSent) return
    if (call.path === '/api/sdk/v1/capabilities') return json(response, 200, capabilities(script.jobs ?? 'available'))
    json(response, 404, { error: { message: 'Not found.', type: 'not_found', code: 404 } })
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const status = script.upgrade?.(request, ++upgrades) ?? null
    const wait = script.retry_after === undefined ? '' : `Retry-After: ${script.retry_after}\r\n`
    const rest = `${wait}Content-Length: 0\r\nConnection: close\r\n\r\n`
    if (status !== null) return socket.end(`HTTP/1.1 ${status} No\r\n${rest}`)
    sockets.handleUpgrade(request, socket, head, (ws) => {
      const peer = new Peer(ws, peers.length)
      peers.push(peer)
      ws.on('message', (data: Buffer, binary) => {
        const sent = (binary ? decode(data) : JSON.parse(String(data))) as Omit<Command, 'socket' | 'binary'>
        const command = { ...sent, socket: peer.number, binary }
        commands.push(command)
        ;(script.commands?.[command.command] ?? USUAL[command.command])?.(peer, command)
      })
      script.opened?.(peer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commands,
    calls,
    peers,
    named: (name) => commands.filter(({ command }) => command === name),
    async [Symbol.asyncDispose]() {
      for (const { ws } of peers) ws.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const USUAL: Readonly<Record<string, (peer: Peer, command: Command) => void>> = {
  get_workflow_interface: (peer, command) => peer.answer(command, { version: 1, workflow_id: 'greet', etag: 'etag-1' }),
  submit_job: (peer, command) =>
    peer.answer(command, { job_id: JOB, status: 'accepted', client_request_id: command.data.client_request_id }),
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function apiError(status: number, type: string, headers: Record<string, string> = {}) {
  return (response: ServerResponse) =>
    json(response, status, { error: { message: `${type}.`, type, code: status } }, headers)
}

function capabilities(jobs: string): object {
  return { protocol_version: '1', profiles: { jobs, something_new: 'available' }, unheard_of: true }
}

/** A client that waits for little. */
export function fastClient(server: { readonly url: string }, options: Partial<ClientOptions> = {}): Client {
  return createClient({
    url: server.url,
    ...options,
    backoff: { base_ms: 4, max_ms: 20, attempts: 4, ...options.backoff },
    times: { gap_ms: 60, idle_ms: 20, ...options.times },
  })
}

const WHEN = '2026-01-15T09:30:00.000Z'
const FACTS = { job_id: JOB, workflow_id: 'greet', workspace_id: null }

export function statusEvent(sequence: number, status: JobStatus = 'running'): JobEvent {
  return {
    sequence,
    ...FACTS,
    timestamp: WHEN,
    type: 'job_status',
    status,
    queue_position: null,
    message: null,
  } as JobEvent
}

export function terminalEvent(sequence: number, status: 'completed' | 'failed' | 'cancelled' = 'completed'): JobEvent {
  const ended = snapshot(status, sequence)
  return { sequence, ...FACTS, timestamp: WHEN, type: 'job_terminal', status, snapshot: ended } as JobEvent
}

/** A whole history: `count` events of which the last is terminal. */
export function historyOf(count: number): JobEvent[] {
  return [...Array.from({ length: count - 1 }, (_, at) => statusEvent(at + 1)), terminalEvent(count)]
}

export function snapshot(status: JobStatus, last_sequence: number): JobSnapshot {
  const over = ['completed', 'failed', 'cancelled'].includes(status)
  return {
    version: 1,
    ...FACTS,
    workflow_etag: 'etag-1',
    created_at: WHEN,
    updated_at: WHEN,
    started_at: WHEN,
    finished_at: over ? WHEN : null,
    last_sequence,
    preflight: null,
    status,
    queue_position: status === 'queued' ? 1 : null,
    waiting: [],
    result: status === 'completed' ? manifest : null,
    error: status === 'failed' ? { message: 'It broke.', type: 'node_error', node_id: 'n', retryable: false } : null,
  } as unknown as JobSnapshot
}

const manifest = {
  version: 1,
  job_id: JOB,
  completed_at: WHEN,
  outputs: { greeting: 'Hello, Ada!' },
  assets: [],
  cost: null,
  provenance: { workflow_id: 'greet', workflow_revision: null, inputs: {}, providers: [], models: [], seed: null },
}

/** The sequences that one iteration gives, to its end. */
export async function sequences(events: AsyncIterable<JobEvent>): Promise<number[]> {
  const found: number[] = []
  for await (const { sequence } of events) found.push(sequence)
  return found
}

/** What a promise rejects with, which is an error of the client. */
export async function caught(promise: Promise<unknown>): Promise<ServiceError> {
  const error = await promise.then(
    () => assert.fail('nothing was thrown'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ServiceError, String(error))
  return error
}
