// The state of one running scenario: the server's state, the client's actions, and the violations found.
import type { ClientCall, ClientCallName } from './call.ts'
import type { ClientConnection } from './connection.ts'
import { canonicalJson, type JsonMap } from './frame-codec.ts'
import {
  completedEvent,
  greetingEvents,
  type ScriptedEvent,
  type ScriptedEvents,
  statusEvent,
} from './scripted-events.ts'
import { findCallError, GREETING_WORKFLOW, REPORT_WORKFLOW } from './server-records.ts'
import { SimulatedJob } from './simulated-job.ts'
import { type ClientTask, type ClientWork, createTask } from './tasks.ts'
import { Transcript } from './transcript.ts'

export interface ClientReport {
  readonly status: unknown
  readonly value: unknown
  readonly events: unknown
  /** The index in the transcript, where the violation is shown. */
  readonly entry: number
}

export interface ReceivedSubmission {
  readonly key: string
  readonly etag: string
  /** All members but `client_request_id`. */
  readonly body: string
  readonly transport: ClientCall['transport']
}

/** The data of a scenario. */
export interface ScenarioSetup {
  readonly id: string
  readonly work: ClientWork
  /** Creates the life of a submitted job. */
  readonly createEvents?: (inputs: JsonMap) => ScriptedEvents
  /** The prefix of the ids of submitted jobs. */
  readonly job_id?: string
  /** The number of events that are stored with the submission. */
  readonly stored?: number
  /** The number of allowed keys: one for each logical submission. */
  readonly keys?: number
}

export interface ScenarioRunParts {
  readonly pace: number
  /** Called when the verdict is known, or may be soon. */
  readonly onChange: () => void
}

/** The most bytes that a client may send in a scenario, because the transcript keeps them. */
const MAX_CLIENT_BYTES = 64 * 1024 * 1024

const REPORT_JOB_EVENTS: ScriptedEvents = [statusEvent('accepted'), statusEvent('running'), completedEvent(null)]

const TOKEN_PREFIX = 'conformance-'

/** Returns the scenario of the client with this token, or null. */
export function findScenarioOfToken(token: string): string | null {
  return token.startsWith(TOKEN_PREFIX) ? token.slice(TOKEN_PREFIX.length).replace(/-\d$/, '') : null
}

export class ScenarioRun {
  readonly facts: ScenarioSetup
  readonly transcript = new Transcript()
  readonly task: ClientTask
  readonly jobs = new Map<string, SimulatedJob>()
  readonly etags = new Map<string, string>()
  readonly connections: ClientConnection[] = []
  /** Submissions of the tested workflow, without reports. */
  readonly submissions: ReceivedSubmission[] = []
  /** Jobs by idempotency key, with the body that created them. */
  readonly jobsByIdempotencyKey = new Map<string, { body: string; job: SimulatedJob }>()
  readonly followersByJob = new Map<SimulatedJob, Map<ClientConnection, number>>()
  readonly calls: { name: ClientCallName; entry: number; transport: ClientCall['transport'] }[] = []
  readonly refusedEtags = new Set<string>()
  readonly retryNotBefore = new Map<ClientCallName, number>()
  /** The currently valid tokens. */
  validTokens: Set<string>
  jobsProfile: 'available' | 'unavailable' = 'available'
  violation: { reason: string; entry: number } | null = null
  /** An error of the script itself. */
  scriptFault: string | null = null
  isStepReached = false
  hasConnected = false
  report: ClientReport | null = null
  /** Whether a subscription was answered with a terminal snapshot. The client then needs no more events. */
  hasSentTerminalSnapshot = false
  /** Releases an answer that a script holds back. */
  releaseHeldReply: () => void = () => {}
  /** Counts for scripts. */
  readonly counts = new Map<string, number>()
  #received_bytes = 0
  readonly #options: ScenarioRunParts
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(facts: ScenarioSetup, options: ScenarioRunParts) {
    this.facts = facts
    this.#options = options
    const token = (n: number) => `${TOKEN_PREFIX}${facts.id}-${n}`
    this.validTokens = new Set([token(1)])
    this.task = createTask(facts.work, [token(1), token(2)], options.pace)
    for (const id of [GREETING_WORKFLOW, REPORT_WORKFLOW]) this.etags.set(id, `etag-1-of-${id}`)
  }

  /** Runs a part of the script. Its errors are no fault of the client. */
  runScript(part: () => void): void {
    try {
      part()
    } catch (error) {
      this.scriptFault ??= error instanceof Error ? error.message : String(error)
      this.transcript.addNote(`the script failed: ${this.scriptFault}`)
      this.#options.onChange()
    }
  }

  /** Counts an event, and returns how often it has happened. */
  countOccurrence(what: string): number {
    const times = (this.counts.get(what) ?? 0) + 1
    this.counts.set(what, times)
    return times
  }

  markStepReached(): void {
    if (!this.isStepReached) this.transcript.addNote('the scenario reaches its decisive step')
    this.isStepReached = true
  }

  addViolation(reason: string, entry = this.transcript.entries.length - 1): void {
    if (this.violation) return
    this.violation = { reason, entry }
    this.transcript.addNote(`violation: ${reason}`)
    this.#options.onChange()
  }

  /** Counts bytes of the client. False where they are too many, which is a violation as well. */
  countBytes(bytes: number, where: string): boolean {
    this.#received_bytes += bytes
    if (this.#received_bytes <= MAX_CLIENT_BYTES) return true
    if (!this.violation) {
      const entry = this.transcript.add('from_client', where, 'too many bytes')
      this.addViolation(`the client sent more than ${MAX_CLIENT_BYTES} bytes`, entry)
    }
    return false
  }

  setReport(report: ClientReport): void {
    if (this.report) return
    this.report = report
    this.#options.onChange()
  }

  /** Scales milliseconds of the contract by the pace of this run. */
  scaleTime(ms: number, least: number): number {
    return Math.max(least, ms * this.#options.pace)
  }

  schedule(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.runScript(act)
    }, ms)
    this.#timers.add(timer)
  }

  /** Refuses a call. Over HTTP the client must not repeat it before `retry_after`. */
  refuse(call: ClientCall, code: string, retry_after?: number): void {
    call.refuse(findCallError(code), retry_after)
    if (retry_after !== undefined && call.transport === 'http') {
      this.retryNotBefore.set(call.name, performance.now() + retry_after * 1000)
    }
  }

  /** Creates the job of a submission, and stores its key. */
  storeJob({ data }: Pick<ClientCall, 'data'>): SimulatedJob {
    const workflow_id = String(data.workflow_id)
    const inputs = (data.inputs ?? {}) as JsonMap
    const report = workflow_id === REPORT_WORKFLOW
    const life = report
      ? REPORT_JOB_EVENTS
      : (this.facts.createEvents?.(inputs) ?? greetingEvents(`Hello, ${inputs.name}!`))
    const job_id = `${report ? 'job_report' : (this.facts.job_id ?? 'job_greeting')}_${this.jobs.size + 1}`
    const job = this.addJob(job_id, workflow_id, life, inputs)
    job.stored = report ? life.length : (this.facts.stored ?? 1)
    if (typeof data.idempotency_key === 'string')
      this.jobsByIdempotencyKey.set(data.idempotency_key, { body: canonicalizeSubmission(data), job })
    return job
  }

  addJob(
    job_id: string,
    workflow_id: string,
    life: readonly ScriptedEvent[],
    inputs: JsonMap = {},
    base = 0,
  ): SimulatedJob {
    const workflow_etag = this.etags.get(workflow_id) ?? 'etag'
    const job = new SimulatedJob({ job_id, workflow_id, workflow_etag, inputs, events: life, base })
    this.jobs.set(job_id, job)
    return job
  }

  dispose(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const connection of this.connections) connection.terminate()
  }
}

/** Returns a submission without the members that may differ in a repetition. */
export function canonicalizeSubmission({ client_request_id: _, ...body }: JsonMap): string {
  return canonicalJson(body)
}
