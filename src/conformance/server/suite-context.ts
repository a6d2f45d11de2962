// One judgement of one server: its claims, what the suite has made there and removes again, and everything that was exchanged.
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
  /** How long an answer or a frame may take. */
  timeout_ms: number
  /** Ends the judgement early; what was made is removed. */
  stop?: AbortSignal
  /** How long the judgement may wait at its end for what comes seldom; not at all, where nothing is said. */
  patience_ms?: number
  /** How often signs of life come; as the contract says, where nothing is said. */
  keep_alive?: KeepAliveIntervals
  /** What some rules need, and a judgement cannot make for itself. */
  operator_inputs?: Partial<OperatorInputs>
}

export interface OperationCall {
  info: OperationInfo
  answer: SuiteAnswer
}

export interface PathAndQuery {
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
const JOB_CREATING_OPERATIONS: readonly OperationId[] = ['submitJob', 'runWorkflow', 'retryJob']
/** How often, and after how many milliseconds, a job that is told to end is asked for. */
const REMOVAL_RETRIES = { times: 40, every_ms: 25 }
/** How long everything may take to be removed, and how long when the judgement has been stopped. */
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
  /** What ends with the trial, the last first. */
  readonly cleanups: (() => Promise<unknown>)[] = []
  /** Jobs that were made, by whichever door. */
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

  /** @throws ServerUnreachableError where nobody answers, Stopped */
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

  /** @throws CheckSkipped unless all of them are claimed */
  requireOperations(...operations: OperationId[]): void {
    const missing = operations.filter((operation) => !this.hasOperation(operation))
    if (missing.length > 0) throw new CheckSkipped(`the server does not claim ${missing.join(', ')}`)
  }

  requireCommands(...commands: WsCommandName[]): void {
    const missing = commands.filter((command) => !this.hasCommand(command))
    if (missing.length > 0) throw new CheckSkipped(`the server does not claim the command ${missing.join(', ')}`)
  }

  /** Makes it once, and gives the same to everybody who asks. */
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
    if (path === null) throw new Error(`${operation} lacks a value in its path`)
    const answer = await this.target.send(info.method.toUpperCase(), query ? `${path}?${query}` : path, asked)
    this.calls.push({ info, answer })
    const { job_id } = mapOf(answer.body)
    if (JOB_CREATING_OPERATIONS.includes(operation) && typeof job_id === 'string') this.jobs.add(job_id)
    return answer
  }

  /** As `call`, where any other status breaks the rule. */
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

  /** A socket of its own; everybody's frames are judged in the end. */
  async openSocket(upgrade?: UpgradeOptions): Promise<SuiteSocket> {
    const opened = await openSuiteSocket(this.target, upgrade)
    expect('socket' in opened, `the upgrade to /ws is refused`, { path: '/ws' }, opened)
    this.sockets.push(opened.socket)
    return opened.socket
  }

  /** Stores a workflow; it is removed in the end. */
  async storeWorkflow(name: string, graph: SampleGraph): Promise<StoredWorkflow> {
    this.requireOperations('createWorkflow')
    const answer = await this.callExpecting('createWorkflow', 201, {}, { json: { name: `conformance ${name}`, graph } })
    const record = mapOf(answer.body)
    const id = String(record.id)
    if (this.hasOperation('deleteWorkflow')) this.cleanups.push(() => this.call('deleteWorkflow', { values: { id } }))
    return { id, etag: String(record.etag), record }
  }

  /** Cancels a job, and removes it where that can be done. */
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

/** The end of what removes things: it may outlast a judgement that was stopped, but not for long. */
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
