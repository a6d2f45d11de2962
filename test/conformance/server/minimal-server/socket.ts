// The socket of the minimal server: both encodings, RPCs, subscriptions and the answers to bad input.
import { decode, encode } from '@msgpack/msgpack'
import type { WebSocket } from 'ws'
import { type Doc, documents, problems } from './documents.ts'
import { interfaceOf } from './graph.ts'
import { Refusal } from './refusal.ts'
import { invalid, JOB_COMMANDS, refusedRun } from './runs.ts'
import type { Service } from './service.ts'

type Rpc = (data: Doc, service: Service, peer: Peer) => Doc | Promise<Doc>

const RPCS: Readonly<Record<string, Rpc>> = {
  get_capabilities: (_data, service) => {
    const { limits, ...rest } = service.capabilities(true)
    return service.has('result-without-limits') ? rest : { ...rest, limits }
  },
  preflight_workflow: (data, service) =>
    service.preflight(service.has('socket-ignores-inputs') ? { ...data, inputs: {} } : data),
  list_workflow_summaries: ({ limit, cursor }, service) => {
    const page = service.summaries(limit ?? 50, cursor ?? null)
    return service.has('socket-lacks-next') ? { ...page, next: null } : page
  },
  get_workflow_interfaces: (data, service) => service.interfaces(data),
  get_workflow_interface: ({ id }, service) => {
    if (service.has('null-interface') && !service.workflows.has(id)) return null
    if (service.has('socket-of-another')) throw new Refusal('WORKFLOW_NOT_FOUND')
    return interfaceOf(id, service.workflow(id).graph)
  },
  get_node_type_inventory: ({ limit, cursor }, service) => service.nodeTypes(limit ?? 50, cursor ?? 0),
}

const JOB_RPCS: Readonly<Record<string, Rpc>> = {
  submit_job: (data, service) => service.submit(data, true),
  get_job_snapshot: ({ job_id }, service) => {
    const { snapshot } = service.job(job_id)
    return service.has('socket-snapshot-differs')
      ? { ...snapshot, last_sequence: snapshot.last_sequence + 1 }
      : snapshot
  },
  request_job_cancellation: ({ job_id }, service) => service.cancel(job_id),
  subscribe_job: ({ job_id, after_sequence }, service, peer) =>
    peer.subscribe(service.job(job_id), after_sequence ?? 0),
}

export function commandsOf(preview: boolean): Map<string, string> {
  const served = [...Object.keys(RPCS), ...Object.keys(JOB_COMMANDS), 'ping', 'set_mode'].map(
    (name) => [name, 'implemented'] as const,
  )
  const jobs = Object.keys(JOB_RPCS).map((name) => [name, 'preview'] as const)
  return new Map([...served, ...(preview ? jobs : [])])
}

/** Much oftener than the contract says: a test has no half minute. */
export const KEEP_ALIVE = { protocol_ping_ms: 400, frame_ping_ms: 500 }

export class Peer {
  readonly #ws: WebSocket
  readonly #service: Service
  #text: boolean
  /** Sent after the reply of the command at hand. */
  #after: (() => void)[] = []

  constructor(ws: WebSocket, service: Service) {
    this.#ws = ws
    this.#service = service
    this.#text = service.has('text-first')
    ws.on('message', (data: Buffer, binary: boolean) => void this.#receive(data, binary))
    ws.on('error', () => {})
    this.#keepAlive()
  }

  #keepAlive(): void {
    const { has } = this.#service
    const timers = [
      has('no-protocol-pings') ? undefined : setInterval(() => this.#ws.ping(), KEEP_ALIVE.protocol_ping_ms),
      has('no-ping-frames')
        ? undefined
        : setInterval(() => this.#send({ type: 'ping', ts: Date.now() / 1_000 }), KEEP_ALIVE.frame_ping_ms),
    ]
    this.#ws.on('close', () => timers.forEach(clearInterval))
  }

  #send(frame: Doc): void {
    const binary = this.#service.has('messagepack-times') ? withTimes(frame) : frame
    const stuck = this.#service.has('events-in-messagepack') && frame.type === 'job_event'
    this.#ws.send(this.#text && !stuck ? JSON.stringify(frame) : encode(binary))
  }

  async #receive(data: Buffer, binary: boolean): Promise<void> {
    const frame = decoded(data, binary)
    const { has } = this.#service
    const odd = !binary && !this.#text && has('text-refused')
    if (frame === null || odd) {
      if (has('undecodable-closes')) this.#ws.close(1002)
      else if (!has('undecodable-silent'))
        this.#send({ error: 'invalid_frame', code: 'INVALID_REQUEST', message: 'It cannot be decoded.' })
    } else if (frame.command === undefined || frame.command === null) {
      const answered = frame.type === undefined ? !has('no-command-silent') : has('pong-answered')
      if (answered) this.#send({ error: 'invalid_message', code: 'INVALID_REQUEST', message: 'There is no command.' })
    } else await this.#command(frame)
    for (const later of this.#after.splice(0)) later()
  }

  async #command({ command, data, request_id }: Doc): Promise<void> {
    const { preview, has } = this.#service
    if (request_id === null && has('null-id-refused'))
      return this.#send({ type: 'error', code: 'INVALID_REQUEST', message: 'A request_id is a text.' })
    if (JOB_COMMANDS[command]) return this.#job({ command, data, request_id })
    if (command === 'ping' && has('pong-without-time'))
      return this.#send({ type: 'pong', ...(request_id ? { request_id } : {}) })
    if (command === 'ping')
      return this.#send({ type: 'pong', ts: Date.now() / 1_000, ...(request_id ? { request_id } : {}) })
    if (command === 'set_mode') return this.#mode(data?.mode, request_id)
    const rpc = RPCS[command] ?? (preview ? JOB_RPCS[command] : undefined)
    const planned = rpc === undefined && has('planned-command-served') && command === 'list_workflows'
    if (planned) return this.#reply(command, request_id, { result: { workflows: [], next: null } })
    if (!rpc) return this.#unknown(command, request_id)
    await this.#rpc(rpc, { command, data, request_id })
  }

  #job({ command, data, request_id }: Doc): void {
    const { payload } = documents.asyncapi.channels.ws.messages[command]
    const wrong = problems(
      payload,
      { command, data, ...(request_id === undefined ? {} : { request_id }) },
      documents.asyncapi,
    )
    if (wrong.length > 0) return this.#send(invalid(command, data, wrong, this.#service))
    try {
      JOB_COMMANDS[command]!(data, this.#service, (frame) => this.#send(frame))
    } catch (error) {
      this.#send(refusedRun(error, data))
    }
  }

  async #rpc(rpc: Rpc, { command, data, request_id }: Doc): Promise<void> {
    if (typeof request_id !== 'string')
      return this.#send({ type: 'error', code: 'INVALID_REQUEST', message: 'An RPC needs a request_id.', command })
    const { payload } = documents.asyncapi.channels.ws.messages[command]
    const wrong = problems(
      payload,
      { command, request_id, ...(data === undefined ? {} : { data }) },
      documents.asyncapi,
    )
    const counted = this.#service.has('unknown-properties-taken')
      ? wrong.filter(({ message }) => message !== 'is unknown')
      : wrong
    try {
      if (counted.length > 0) throw new Refusal('INVALID_REQUEST', counted)
      this.#reply(command, request_id, { result: await rpc(data ?? {}, this.#service, this) })
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL_ERROR')
      this.#reply(command, request_id, { error: this.#told(refusal) })
    }
  }

  #told(refusal: Refusal): Doc {
    const error = refusal.socket()
    return this.#service.has('other-api-code') ? { ...error, apiCode: 'SERVICE_UNAVAILABLE' } : error
  }

  #reply(command: string, request_id: string, rest: Doc): void {
    const named = this.#service.has('reply-of-another') ? 'another' : command
    this.#send({ type: 'rpc_response', request_id, command: named, ...rest })
    if (this.#service.has('late-second-reply'))
      setTimeout(() => this.#send({ type: 'rpc_response', request_id, command, ...rest }), 120)
    if (this.#service.has('two-replies')) this.#send({ type: 'rpc_response', request_id, command, ...rest })
  }

  #unknown(command: string, request_id: unknown): void {
    const { has } = this.#service
    if (has('unknown-command-silent') && command === 'conformance_unknown' && !request_id) return
    if (typeof request_id === 'string')
      this.#reply(command, request_id, { error: this.#told(new Refusal('NOT_FOUND')) })
    else this.#send({ type: 'error', code: 'NOT_FOUND', message: 'There is no such command.', command })
  }

  #mode(mode: string, request_id: unknown): void {
    const early = this.#service.has('mode-acknowledged-in-it')
    if (early) this.#text = mode === 'text'
    this.#send({ message: 'The mode is set.', mode, ...(request_id ? { request_id } : {}) })
    this.#text = mode === 'text'
  }

  subscribe(job: Doc, after: number): Doc {
    const { has } = this.#service
    const last = job.events.length
    if (after > last && !has('ahead-is-empty')) throw new Refusal('SEQUENCE_AHEAD')
    const tell = (event: Doc, live: boolean) => {
      if (has('socket-skips-outputs') && event.type === 'output_update') return
      const late =
        live && has('live-differs') ? { ...event, timestamp: new Date(Date.now() + 1_000).toISOString() } : event
      this.#send({ type: 'job_event', job_id: has('frame-of-another') ? 'another' : job.job_id, event: late })
    }
    this.#after.push(() => {
      const stop = job.follow(job.swept ? last : after + (has('late-replay') && after > 0 ? 1 : 0), tell, () => {})
      this.#ws.on('close', stop)
    })
    const next = has('range-off-by-one') ? after : after + 1
    return {
      job_id: job.job_id,
      requested_after_sequence: after,
      replay_from_sequence: after >= last || job.swept ? null : Math.max(1, next),
      replay_to_sequence: last,
      snapshot: has('subscription-stale') && !job.terminal ? { ...job.snapshot, ...FRESH } : job.snapshot,
    }
  }
}

/** What a snapshot has when its job is accepted. */
const FRESH = { status: 'accepted', queue_position: null, started_at: null, last_sequence: 0, waiting: [] }

function decoded(data: Buffer, binary: boolean): Doc | null {
  try {
    const frame = binary ? decode(data) : JSON.parse(data.toString())
    return typeof frame === 'object' && frame !== null && !Array.isArray(frame) ? frame : null
  } catch {
    return null
  }
}

function withTimes(value: Doc): Doc {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value)) return new Date(value)
  if (Array.isArray(value)) return value.map(withTimes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withTimes(member)]))
}
