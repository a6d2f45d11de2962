// One judgement of one server: its claims, what the suite has made there and removes again, and everything that was exchanged.
import type { OperationId, OperationInfo } from '../../../generated/operations.ts'
import { type Claims, readClaims, type WsCommandName } from './claims.ts'
import { type Given, KEEP_ALIVE, type KeepAlive, NOTHING } from './given.ts'
import type { Graph } from './graphs.ts'
import { type JsonMap, mapOf } from './json.ts'
import { fill, infoOf } from './operations.ts'
import { openSocket, type Socket, type Upgrade } from './socket.ts'
import { type Answer, type Asked, shown, Target } from './target.ts'
import { expect, Skip, Stopped, Unreachable } from './verdicts.ts'

export type Profile = 'lifecycle' | 'full'

export interface TrialOptions {
  url: string
  token: string | null
  profile: Profile
  /** How long an answer or a frame may take. */
  timeout_ms: number
  /** Ends the judgement early; what was made is removed. */
  stop?: AbortSignal
  /** How long the judgement may wait at its end for what comes seldom; not at all, where nothing is said. */
  patience_ms?: number
  /** How often signs of life come; as the contract says, where nothing is said. */
  keep_alive?: KeepAlive
  /** What some rules need, and a judgement cannot make for itself. */
  given?: Partial<Given>
}

export interface Call {
  info: OperationInfo
  answer: Answer
}

export interface Place {
  values?: Readonly<Record<string, string>>
  /** As it stands in the URL, without the question mark. */
  query?: string
}

export interface StoredWorkflow {
  id: string
  etag: string
  record: JsonMap
}

/** Operations that make jobs. */
const MAKERS: readonly OperationId[] = ['submitJob', 'runWorkflow', 'retryJob']
/** How often, and after how many milliseconds, a job that is told to end is asked for. */
const REMOVALS = { times: 40, every_ms: 25 }
/** How long everything may take to be removed, and how long when the judgement has been stopped. */
const REMOVAL_MS = { whole: 60_000, stopped: 3_000 }

export class Trial implements AsyncDisposable {
  readonly target: Target
  readonly claims: Claims
  readonly profile: Profile
  readonly given: Given
  readonly patience_ms: number
  readonly keep_alive: KeepAlive
  readonly calls: Call[] = []
  readonly sockets: Socket[] = []
  /** What ends with the trial, the last first. */
  readonly cleanups: (() => Promise<unknown>)[] = []
  /** Jobs that were made, by whichever door. */
  readonly jobs = new Set<string>()
  readonly #known = new Map<string, Promise<unknown>>()

  private constructor(target: Target, claims: Claims, options: TrialOptions) {
    const { profile, given, patience_ms = 0, keep_alive = KEEP_ALIVE } = options
    this.target = target
    this.claims = claims
    this.profile = profile
    this.given = { ...NOTHING, ...given }
    this.patience_ms = patience_ms
    this.keep_alive = keep_alive
  }

  /** @throws Unreachable where nobody answers, Stopped */
  static async open(options: TrialOptions): Promise<Trial> {
    const { url, token, timeout_ms, stop = new AbortController().signal } = options
    const target = new Target({ url, token, timeout_ms, stop })
    try {
      return new Trial(target, await readClaims(target), options)
    } catch (error) {
      target[Symbol.dispose]()
      throw error instanceof Stopped ? error : new Unreachable((error as Error).message)
    }
  }

  serves(operation: OperationId): boolean {
    return this.claims.operations.get(operation) !== 'planned'
  }

  takes(command: WsCommandName): boolean {
    return this.claims.commands.get(command) !== 'planned'
  }

  /** @throws Skip unless all of them are claimed */
  needs(...operations: OperationId[]): void {
    const missing = operations.filter((operation) => !this.serves(operation))
    if (missing.length > 0) throw new Skip(`the server does not claim ${missing.join(', ')}`)
  }

  needsCommands(...commands: WsCommandName[]): void {
    const missing = commands.filter((command) => !this.takes(command))
    if (missing.length > 0) throw new Skip(`the server does not claim the command ${missing.join(', ')}`)
  }

  /** Makes it once, and gives the same to everybody who asks. */
  once<T>(key: string, make: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key) ?? make()
    this.#known.set(key, known)
    return known as Promise<T>
  }

  /** Sends a request of one operation. */
  async call(operation: OperationId, { values = {}, query }: Place = {}, asked: Asked = {}): Promise<Answer> {
    const info = infoOf(operation)
    const path = fill(info.path, values)
    if (path === null) throw new Error(`${operation} lacks a value in its path`)
    const answer = await this.target.send(info.method.toUpperCase(), query ? `${path}?${query}` : path, asked)
    this.calls.push({ info, answer })
    const { job_id } = mapOf(answer.body)
    if (MAKERS.includes(operation) && typeof job_id === 'string') this.jobs.add(job_id)
    return answer
  }

  /** As `call`, where any other status breaks the rule. */
  async good(operation: OperationId, status: number, place?: Place, asked?: Asked): Promise<Answer> {
    const answer = await this.call(operation, place, asked)
    const { request, answer: got } = shown(answer)
    expect(answer.status === status, `${operation} answers ${answer.status}, not ${status}`, request, got)
    return answer
  }

  /** A socket of its own; everybody's frames are judged in the end. */
  async socket(upgrade?: Upgrade): Promise<Socket> {
    const opened = await openSocket(this.target, upgrade)
    expect('socket' in opened, `the upgrade to /ws is refused`, { path: '/ws' }, opened)
    this.sockets.push(opened.socket)
    return opened.socket
  }

  /** Stores a workflow; it is removed in the end. */
  async store(name: string, graph: Graph): Promise<StoredWorkflow> {
    this.needs('createWorkflow')
    const answer = await this.good('createWorkflow', 201, {}, { json: { name: `conformance ${name}`, graph } })
    const record = mapOf(answer.body)
    const id = String(record.id)
    if (this.serves('deleteWorkflow')) this.cleanups.push(() => this.call('deleteWorkflow', { values: { id } }))
    return { id, etag: String(record.etag), record }
  }

  /** Cancels a job, and removes it where that can be done. */
  async #remove(id: string): Promise<void> {
    const place = { values: { id, job_id: id } }
    if (this.serves('requestJobCancellation')) await this.call('requestJobCancellation', place)
    else if (this.serves('cancelJob')) await this.call('cancelJob', place)
    for (let times = 0; this.serves('deleteJob') && times < REMOVALS.times; times++) {
      if ((await this.call('deleteJob', place)).status !== 409) return
      await new Promise((resolve) => setTimeout(resolve, REMOVALS.every_ms))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const removal = removalOf(this.target.stop)
    this.target.stop = removal.stop
    this.target.forget()
    for (const id of this.jobs) await this.#remove(id).catch(() => {})
    for (const clean of this.cleanups.splice(0).reverse()) await clean().catch(() => {})
    for (const socket of this.sockets) socket[Symbol.dispose]()
    this.target[Symbol.dispose]()
    removal.done()
  }
}

/** The end of what removes things: it may outlast a judgement that was stopped, but not for long. */
function removalOf(stopped: AbortSignal): { stop: AbortSignal; done: () => void } {
  const late = new AbortController()
  const end = (ms: number) => setTimeout(() => late.abort(), ms)
  const timers = [end(REMOVAL_MS.whole)]
  const hurry = () => void timers.push(end(REMOVAL_MS.stopped))
  if (stopped.aborted) hurry()
  else stopped.addEventListener('abort', hurry, { once: true })
  const done = () => {
    stopped.removeEventListener('abort', hurry)
    for (const timer of timers) clearTimeout(timer)
  }
  return { stop: late.signal, done }
}
