// One row of the table: the request to a running server, and what a server has to find after a kill at its acknowledgement.
import assert from 'node:assert/strict'
import type { JobSnapshot, RunResult, Thread, Workflow } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { type Answer, type CallOptions, call } from '../helpers/http.ts'
import type { ServingProcess } from '../helpers/process.ts'
import { type TestServer, until } from '../helpers/server.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { type Command, type HttpAck, type HttpRequest, overHttp, overSocket, type Strike } from './moment.ts'

/** The server of a row, and what the row prepares before its request. */
export class World {
  readonly server: ServingProcess
  /** Runs right before the request of the row, after the preparation. */
  readonly ready: () => Promise<unknown>
  readonly #clients: Client[] = []

  constructor(server: ServingProcess, ready: () => Promise<unknown> = async () => {}) {
    this.server = server
    this.ready = ready
  }

  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const { status, body, text } = await call<T>(this.server, method, path, options)
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
    return body
  }

  /** A socket for the duration of the row. */
  async socket(): Promise<Client> {
    const client = await connect(this.server)
    this.#clients.push(client)
    return client
  }

  async workflow(graph: Graph): Promise<string> {
    return (await this.call<Workflow>('POST', '/api/workflows', { body: { name: 'of a row', graph } })).id
  }

  /** Starts a job in the background. Resolves when it has that status. */
  async job(graph: Graph, status: JobSnapshot['status']): Promise<string> {
    const path = `/api/workflows/${await this.workflow(graph)}/run`
    const { job_id } = await this.call<RunResult>('POST', path, { body: { background: true } })
    const now = async () => (await this.call<JobSnapshot>('GET', `/api/jobs/${job_id}`)).status
    await until(`${job_id} to be ${status}`, async () => (await now()) === status)
    return job_id
  }

  /** Starts a job that waits behind another of its workflow. */
  async queued(graph: Graph): Promise<string> {
    const workflow_id = await this.workflow(graph)
    const client = await this.socket()
    const [first, second] = ['before', 'queued'].map((word) => `${word}-${workflow_id}`)
    await client.ask('run_job', { job_id: first, workflow_id })
    client.command('run_job', { job_id: second, workflow_id, concurrent: false })
    await client.next({ type: 'job_update', job_id: second!, status: 'queued' })
    return second!
  }

  async thread(): Promise<string> {
    return (await this.call<Thread>('POST', '/api/threads', { body: { title: 'of a row' } })).id
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client[Symbol.asyncDispose]().catch(() => {})
  }
}

/** A server on the data that the kill left. */
export class Found {
  readonly server: TestServer

  constructor(server: TestServer) {
    this.server = server
  }

  read<T>(path: string): Promise<Answer<T>> {
    return call<T>(this.server, 'GET', path)
  }

  async there<T>(path: string): Promise<T> {
    const { status, body } = await this.read<T>(path)
    assert.equal(status, 200, `${path} is gone`)
    return body
  }

  async gone(path: string): Promise<void> {
    assert.equal((await this.read(path)).status, 404, `${path} is still there`)
  }

  /** Resolves with the ended job. */
  ended(job_id: string): Promise<JobSnapshot> {
    return until(`the end of ${job_id}`, async () => {
      const snapshot = await this.there<JobSnapshot>(`/api/jobs/${job_id}`)
      return snapshot.finished_at === null ? null : snapshot
    })
  }

  async cancelled(job_id: string): Promise<void> {
    const { status } = await this.there<JobSnapshot>(`/api/jobs/${job_id}`)
    assert.match(status, /^cancel/, `${job_id} is ${status}`)
    assert.equal((await this.ended(job_id)).status, 'cancelled')
  }
}

export interface Row {
  /** Sends the request, and acts at its acknowledgement. Returns what to look for. */
  send(world: World, strike: Strike): Promise<(found: Found) => Promise<unknown>>
}

/** Why a restart does not have to find anything of an acknowledgement. */
export interface Nothing {
  readonly nothing: string
}

type Prepared<Sent> = Sent | Promise<Sent>

/** A row over HTTP. `prepare` returns the request. An error status fails the row. */
export function http(
  prepare: (world: World) => Prepared<HttpRequest>,
  look: (found: Found, ack: HttpAck, request: HttpRequest) => Promise<unknown>,
): Row {
  return {
    async send(world, strike) {
      const request = await prepare(world)
      await world.ready()
      const ack = await overHttp(world.server, request, strike)
      assert.ok(ack.status < 300, `${request.method} ${request.path}: ${ack.status} ${JSON.stringify(ack.body)}`)
      return (found) => look(found, ack, request)
    },
  }
}

/** A row over `/ws`. A refusal fails the row. */
export function command<Data extends object>(
  prepare: (world: World) => Prepared<Omit<Command, 'data'> & { data: Data }>,
  look: (found: Found, ack: Frame, data: Data) => Promise<unknown>,
): Row {
  return {
    async send(world, strike) {
      const sent = await prepare(world)
      await world.ready()
      const ack = await overSocket(world.server, sent, strike)
      assert.equal(ack.error ?? null, null, JSON.stringify(ack))
      return (found) => look(found, ack, sent.data)
    },
  }
}
