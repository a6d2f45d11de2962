// Simulates clients that submit, subscribe, cancel and reconnect, while the server is killed now and then and restarted with the files on
// its disk. It records what was acknowledged and sent, and compares that with what the server says at the end.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import type { JobEvent, JobSnapshot, SubmitJobRequest, SubmitJobResponse, Workflow } from '../../generated/types.ts'
import { FolderCopies } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { ended, type GatedServer } from '../jobs/kit.ts'
import { faults, GATED, QUICK, startPreview, streaming, submissionOf, workflow } from './jobs-kit.ts'

export type Step =
  | { readonly do: 'submit'; readonly key: number; readonly variant: number; readonly door: number }
  | { readonly do: 'subscribe'; readonly client: number; readonly job: number; readonly back: number }
  | { readonly do: 'cancel'; readonly job: number; readonly door: number }
  | { readonly do: 'reconnect'; readonly client: number }
  | { readonly do: 'open' }
  | { readonly do: 'turns'; readonly count: number }
  | { readonly do: 'crash'; readonly orderly: boolean }

export const CLIENTS = 2
const GRAPHS = [QUICK, GATED, streaming([1, 2, 3, 4, 5])]

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** The frames of one socket, in order, checked on arrival: within a subscription no sequence is missing and none comes twice. */
class Tape {
  readonly socket: Client
  readonly #next = new Map<string, number>()
  #read = 0

  constructor(socket: Client) {
    this.socket = socket
  }

  /** Yields the events since the last call. */
  *events(): Generator<JobEvent> {
    while (this.#read < this.socket.frames.length) yield* this.#eventOf(this.socket.frames[this.#read++]!)
  }

  *#eventOf(frame: Frame): Generator<JobEvent> {
    if (frame.command === 'subscribe_job' && frame.result) {
      const { job_id, requested_after_sequence } = frame.result as { job_id: string; requested_after_sequence: number }
      this.#next.set(job_id, requested_after_sequence + 1)
    }
    if (frame.type !== 'job_event') return
    const event = frame.event as JobEvent
    assert.equal(event.sequence, this.#next.get(event.job_id), `the next event of ${event.job_id}`)
    this.#next.set(event.job_id, event.sequence + 1)
    yield event
  }
}

export class World implements AsyncDisposable {
  readonly #folder = temporaryFolder()
  readonly #copies = new DisposableStack()
  readonly #old: GatedServer[] = []
  #server: GatedServer
  #life = 0
  #workflows: Workflow[] = []
  #tapes: Tape[] = []
  /** The acknowledged job by key and variant. */
  readonly acknowledged = new Map<string, string>()
  /** The events that any client received, by job. */
  readonly #told = new Map<string, Map<number, JobEvent>>()
  readonly #under_way = new Set<Promise<void>>()

  private constructor(server: GatedServer) {
    this.#server = server
  }

  static async create(): Promise<World> {
    const world = new World(null as never)
    world.#server = await startPreview({ data_dir: world.#folder })
    for (const graph of GRAPHS) world.#workflows.push(await workflow(world.#server, graph))
    for (let at = 0; at < CLIENTS; at++) world.#tapes.push(new Tape(await connect(world.#server)))
    return world
  }

  /** Begins a step, which need not end before the next one begins. */
  async take(step: Step): Promise<void> {
    if (step.do === 'crash') return this.#crash(step.orderly)
    if (step.do === 'turns') {
      for (let at = 0; at < step.count; at++) await turn()
      return
    }
    const life = this.#life
    const work = this.#work(step).catch((error) => {
      // A request that a dead server did not answer is no fault.
      if (life === this.#life) throw error
    })
    this.#under_way.add(work)
    work.catch(() => {})
  }

  async #work(step: Exclude<Step, { do: 'crash' | 'turns' }>): Promise<void> {
    if (step.do === 'submit') return this.#submit(step.key, step.variant, step.door)
    if (step.do === 'open') return this.#server.gate.waiting[0]?.open()
    if (step.do === 'reconnect') {
      const life = this.#life
      this.#listen()
      this.#tapes[step.client]!.socket.close()
      const socket = await connect(this.#server)
      if (life === this.#life) this.#tapes[step.client] = new Tape(socket)
      else socket.ws.terminate()
      return
    }
    const jobs = [...new Set(this.acknowledged.values())]
    const job_id = jobs[step.job % Math.max(1, jobs.length)]
    if (job_id === undefined) return
    if (step.do === 'cancel') await this.#ask(step.door, 'request_job_cancellation', { job_id })
    else this.#subscribe(step.client, job_id, step.back)
  }

  async #submit(key: number, variant: number, door: number): Promise<void> {
    const life = this.#life
    const body: SubmitJobRequest = {
      ...submissionOf(this.#workflows[key % GRAPHS.length]!, { options: { concurrent: true } }),
      idempotency_key: `key-${key}`,
      ...(variant === 0 ? {} : { options: { concurrent: true, require_terminal_result: false } }),
    }
    const answer = await this.#ask(door, 'submit_job', body)
    if (life !== this.#life || answer === null) return
    const { job_id } = answer as SubmitJobResponse
    const name = `${key}/${variant}`
    assert.equal(this.acknowledged.get(name) ?? job_id, job_id, `the job of ${name}`)
    this.acknowledged.set(name, job_id)
  }

  /** Returns the answer over one of the transports; null if it is a conflict. */
  async #ask(door: number, command: 'submit_job' | 'request_job_cancellation', data: object): Promise<unknown> {
    const socket = this.#tapes[door]?.socket
    if (socket?.open) {
      const { error, result } = await socket.ask(command, data).catch((fault) => {
        // The client itself has disconnected, and does not know the outcome.
        if (socket.open) throw fault
        return { error: undefined, result: null }
      })
      if (error) assert.equal((error as { code: string }).code, 'IDEMPOTENCY_CONFLICT')
      return result ?? null
    }
    const job = 'job_id' in data ? `/${data.job_id}/cancel` : ''
    const body = job === '' ? { body: data } : {}
    const answer = await call(this.#server, 'POST', `/api/sdk/v1/jobs${job}`, body)
    assert.ok([200, 202, 409].includes(answer.status), answer.text)
    return answer.status === 409 ? null : answer.body
  }

  #subscribe(client: number, job_id: string, back: number): void {
    this.#listen()
    const { socket } = this.#tapes[client]!
    const after_sequence = Math.max(0, (this.#told.get(job_id)?.size ?? 0) - back)
    if (socket.open) socket.command('subscribe_job', { job_id, after_sequence }, `s-${Math.random()}`)
  }

  /** Records the received events: all clients must get the same event for a sequence, for ever. */
  #listen(): void {
    for (const tape of this.#tapes)
      for (const event of tape.events()) {
        const told = this.#told.get(event.job_id) ?? new Map<number, JobEvent>()
        this.#told.set(event.job_id, told)
        assert.deepEqual(event, told.get(event.sequence) ?? event)
        told.set(event.sequence, event)
      }
  }

  /** Kills the server at once. The next one has only the files on the disk. */
  async #crash(orderly: boolean): Promise<void> {
    this.#listen()
    const copy = orderly ? null : this.#copies.use(new FolderCopies(this.#server.data_dir))
    copy?.take()
    this.#life++
    for (const { socket } of this.#tapes) socket.ws.terminate()
    await Promise.all(this.#tapes.map(({ socket }) => socket.closed()))
    const from = this.#server.data_dir
    if (orderly) await this.#server.close(0)
    else this.#old.push(this.#server)
    const data_dir = copy?.paths[0] ?? from
    this.#server = await startPreview({ data_dir })
    this.#tapes = []
    for (let at = 0; at < CLIENTS; at++) this.#tapes.push(new Tape(await connect(this.#server)))
  }

  /** Lets every job end, and compares what the server says of it with what was acknowledged and sent. */
  async settle(): Promise<void> {
    await Promise.all(this.#under_way)
    this.#listen()
    for (const [key, job] of this.acknowledged) {
      const other = `${key.split('/')[0]}/${key.endsWith('0') ? 1 : 0}`
      assert.notEqual(this.acknowledged.get(other), job)
      assert.ok(!this.acknowledged.has(other), `${key} and ${other} are both acknowledged`)
    }
    for (const job_id of new Set(this.acknowledged.values())) await this.#settled(job_id)
    assert.deepEqual(await faults(this.#server), [])
  }

  async #settled(job_id: string): Promise<void> {
    const letGo = setInterval(() => this.#server.gate.waiting[0]?.open(), 5)
    try {
      await ended(this.#server, job_id)
    } finally {
      clearInterval(letGo)
    }
    for (let client = 0; client < CLIENTS; client++) this.#subscribe(client, job_id, client * 3)
    const { body: snapshot } = await call<JobSnapshot>(this.#server, 'GET', `/api/sdk/v1/jobs/${job_id}`)
    await until('all events', () => {
      this.#listen()
      return this.#told.get(job_id)?.size === snapshot.last_sequence
    })
    const headers = { Accept: 'application/json' }
    const { body } = await call<JobEvent[]>(this.#server, 'GET', `/api/jobs/${job_id}/events`, { headers })
    const told = [...this.#told.get(job_id)!.values()].sort((a, b) => a.sequence - b.sequence)
    assert.deepEqual(told, body)
    assert.deepEqual(
      body.map(({ sequence }) => sequence),
      body.map((_, at) => at + 1),
    )
    const last = body.at(-1)
    assert.deepEqual(last?.type === 'job_terminal' && last.snapshot, snapshot)
    assert.equal(snapshot.preflight?.runnable, true)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.#tapes) socket.ws.terminate()
    await this.#server.close(0)
    for (const server of this.#old) await server.close(0)
    this.#copies.dispose()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
