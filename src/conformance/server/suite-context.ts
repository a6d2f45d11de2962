// The state of one run of the suite against a server: its claims, the objects to remove, and all exchanges.
import type { OperationId, OperationInfo } from '../../../generated/operations.ts'
import { CheckSkipped, expect, ServerUnreachableError, SuiteStoppedError } from './check-outcomes.ts'
import { fillPath, findOperation } from './contract-operations.ts'
import { type JsonMap, mapOf } from './json.ts'
import {
  KEEP_ALIVE_INTERVALS,
  type KeepAliveIntervals,
  NO_OPERATOR_INPUTS,
  type OperatorInputs,
} from './operator-inputs.ts'
import type { SampleGraph } from './sample-graphs.ts'
import { readClaims, type ServerClaims, type WsCommandName } from './server-claims.ts'
import { openSuiteSocket, type SuiteSocket, type UpgradeOptions } from './suite-socket.ts'
import { type SuiteAnswer, type SuiteRequest, TargetServer, toEvidenceParts } from './target-server.ts'

export type ConformanceProfile = 'lifecycle' | 'full'

export interface SuiteContextOptions {
  url: string
  token: string | null
  profile: ConformanceProfile
  /** The time limit of an answer or a frame. */
  timeout_ms: number
  /** Stops the suite early. The created objects are removed. */
  stop?: AbortSignal
  /** How long the suite may wait at its end for rare messages. Absent: it does not wait. */
  patience_ms?: number
  /** The intervals of pings. Absent: those of the contract. */
  keep_alive?: KeepAliveIntervals
  /** Inputs that some checks need and the suite cannot create. */
  operator_inputs?: Partial<OperatorInputs>
}

export interface OperationCall {
  info: OperationInfo
  answer: SuiteAnswer
}

export interface PathAndQuery {
  values?: Readonly<Record<string, string>>
  /** The query as in the URL, without the question mark. */
  query?: string
}

export interface StoredWorkflow {
  id: string
  etag: string
  record: JsonMap
}

/** Operations that create jobs. */
const JOB_CREATING_OPERATIONS: readonly OperationId[] = ['submitJob', 'runWorkflow', 'retryJob']
/** How often, and after how many milliseconds, the suite polls a cancelled job. */
const REMOVAL_RETRIES = { times: 40, every_ms: 25 }
/** The time limits of the removal, for a complete and for a stopped suite. */
const REMOVAL_TIMEOUTS_MS = { whole: 60_000, stopped: 3_000 }

export class SuiteContext implements AsyncDisposable {
  readonly target: TargetServer
  readonly claims: ServerClaims
  readonly profile: ConformanceProfile
  readonly operator_inputs: OperatorInputs
  readonly patience_ms: number
  readonly keep_alive: KeepAliveIntervals
  readonly calls: OperationCall[] = []
  readonly sockets: SuiteSocket[] = []
  /** Cleanups at the end of the suite, the last one first. */
  readonly cleanups: (() => Promise<unknown>)[] = []
  /** All created jobs. */
  readonly jobs = new Set<string>()
  readonly #memoized = new Map<string, Promise<unknown>>()

  private constructor(target: TargetServer, claims: ServerClaims, options: SuiteContextOptions) {
    const { profile, operator_inputs, patience_ms = 0, keep_alive = KEEP_ALIVE_INTERVALS } = options
    this.target = target
    this.claims = claims
    this.profile = profile
    this.operator_inputs = { ...NO_OPERATOR_INPUTS, ...operator_inputs }
    this.patience_ms = patience_ms
    this.keep_alive = keep_alive
  }

  /** @throws ServerUnreachableError where no server answers, SuiteStoppedError */
  static async open(options: SuiteContextOptions): Promise<SuiteContext> {
    const { url, token, timeout_ms, stop = new AbortController().signal } = options
    const target = new TargetServer({ url, token, timeout_ms, stop })
    try {
      return new SuiteContext(target, await readClaims(target), options)
    } catch (error) {
      target[Symbol.dispose]()
      throw error instanceof SuiteStoppedError ? error : new ServerUnreachableError((error as Error).message)
    }
  }

  hasOperation(operation: OperationId): boolean {
    return this.claims.operations.get(operation) !== 'planned'
  }

  hasCommand(command: WsCommandName): boolean {
    return this.claims.commands.get(command) !== 'planned'
  }

  /** @throws CheckSkipped where the server does not claim all of them */
  requireOperations(...operations: OperationId[]): void {
    const missing = operations.filter((operation) => !this.hasOperation(operation))
    if (missing.length > 0) throw new CheckSkipped(`the server does not claim ${missing.join(', ')}`)
  }

  requireCommands(...commands: WsCommandName[]): void {
    const missing = commands.filter((command) => !this.hasCommand(command))
    if (missing.length > 0) throw new CheckSkipped(`the server does not claim the command ${missing.join(', ')}`)
  }

  /** Calls `make` once for a key, and returns the same promise to all callers. */
  memoize<T>(key: string, make: () => Promise<T>): Promise<T> {
    const known = this.#memoized.get(key) ?? make()
    this.#memoized.set(key, known)
    return known as Promise<T>
  }

  /** Sends a request of one operation. */
  async call(
    operation: OperationId,
    { values = {}, query }: PathAndQuery = {},
    asked: SuiteRequest = {},
  ): Promise<SuiteAnswer> {
    const info = findOperation(operation)
    const path = fillPath(info.path, values)
    if (path === null) throw new Error(`${operation} has no value for a path parameter`)
    const answer = await this.target.send(info.method.toUpperCase(), query ? `${path}?${query}` : path, asked)
    this.calls.push({ info, answer })
    const { job_id } = mapOf(answer.body)
    if (JOB_CREATING_OPERATIONS.includes(operation) && typeof job_id === 'string') this.jobs.add(job_id)
    return answer
  }

  /** Calls an operation. Another status breaks the rule. */
  async callExpecting(
    operation: OperationId,
    status: number,
    place?: PathAndQuery,
    asked?: SuiteRequest,
  ): Promise<SuiteAnswer> {
    const answer = await this.call(operation, place, asked)
    const { request, answer: got } = toEvidenceParts(answer)
    expect(answer.status === status, `${operation} answers ${answer.status}, not ${status}`, request, got)
    return answer
  }

  /** Opens a new socket. The frames of all sockets are checked at the end. */
  async openSocket(upgrade?: UpgradeOptions): Promise<SuiteSocket> {
    const opened = await openSuiteSocket(this.target, upgrade)
    expect('socket' in opened, `the upgrade to /ws is refused`, { path: '/ws' }, opened)
    this.sockets.push(opened.socket)
    return opened.socket
  }

  /** Stores a workflow, which is removed at the end. */
  async storeWorkflow(name: string, graph: SampleGraph): Promise<StoredWorkflow> {
    this.requireOperations('createWorkflow')
    const answer = await this.callExpecting('createWorkflow', 201, {}, { json: { name: `conformance ${name}`, graph } })
    const record = mapOf(answer.body)
    const id = String(record.id)
    if (this.hasOperation('deleteWorkflow')) this.cleanups.push(() => this.call('deleteWorkflow', { values: { id } }))
    return { id, etag: String(record.etag), record }
  }

  /** Cancels a job, and removes it where the server supports that. */
  async #removeJob(id: string): Promise<void> {
    const place = { values: { id, job_id: id } }
    if (this.hasOperation('requestJobCancellation')) await this.call('requestJobCancellation', place)
    else if (this.hasOperation('cancelJob')) await this.call('cancelJob', place)
    for (let times = 0; this.hasOperation('deleteJob') && times < REMOVAL_RETRIES.times; times++) {
      if ((await this.call('deleteJob', place)).status !== 409) return
      await new Promise((resolve) => setTimeout(resolve, REMOVAL_RETRIES.every_ms))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const removal = createRemovalDeadline(this.target.stop)
    this.target.stop = removal.stop
    this.target.clearKept()
    for (const id of this.jobs) await this.#removeJob(id).catch(() => {})
    for (const clean of this.cleanups.splice(0).reverse()) await clean().catch(() => {})
    for (const socket of this.sockets) socket[Symbol.dispose]()
    this.target[Symbol.dispose]()
    removal.done()
  }
}

/** Creates the deadline of the removal. The removal may outlast a stopped suite, but only for a short time. */
function createRemovalDeadline(stopped: AbortSignal): { stop: AbortSignal; done: () => void } {
  const late = new AbortController()
  const end = (ms: number) => setTimeout(() => late.abort(), ms)
  const timers = [end(REMOVAL_TIMEOUTS_MS.whole)]
  const hurry = () => void timers.push(end(REMOVAL_TIMEOUTS_MS.stopped))
  if (stopped.aborted) hurry()
  else stopped.addEventListener('abort', hurry, { once: true })
  const done = () => {
    stopped.removeEventListener('abort', hurry)
    for (const timer of timers) clearTimeout(timer)
  }
  return { stop: late.signal, done }
}
