// One scenario while it is played: the server's state, what the client did, and what was found against it.
import type { Call, CallName } from './call.ts'
import type { Connection } from './connection.ts'
import { Job } from './jobs.ts'
import { completed, greetingLife, type Life, type LifeItem, status } from './life.ts'
import { GREETING_WORKFLOW, REPORT_WORKFLOW, refusal } from './records.ts'
import { type Task, taskOf, type Work } from './tasks.ts'
import { Transcript } from './transcript.ts'
import { canonical, type Fields } from './wire.ts'

export interface Report {
  readonly status: unknown
  readonly value: unknown
  readonly events: unknown
  /** Where it stands in the transcript: what is wrong with it is shown there. */
  readonly entry: number
}

export interface Submission {
  readonly key: string
  readonly etag: string
  /** Everything but `client_request_id`. */
  readonly body: string
  readonly door: Call['door']
}

/** What of a scenario is data. */
export interface StageFacts {
  readonly id: string
  readonly work: Work
  /** The life of the job of a submission. */
  readonly life?: (inputs: Fields) => Life
  /** How ids of submitted jobs begin. */
  readonly job_id?: string
  /** How many events are stored with the submission. */
  readonly stored?: number
  /** How many keys submissions may have: one for each logical submission. */
  readonly keys?: number
}

export interface StageOptions {
  readonly pace: number
  /** Something was decided, or may be soon. */
  readonly changed: () => void
}

/** The most bytes that a client may send in a scenario, for the transcript keeps them. */
const MOST_BYTES = 64 * 1024 * 1024

const REPORT_LIFE: Life = [status('accepted'), status('running'), completed(null)]

const TOKEN = 'conformance-'

/** The scenario whose client has this token, or null where it is of none. */
export function scenarioOf(token: string): string | null {
  return token.startsWith(TOKEN) ? token.slice(TOKEN.length).replace(/-\d$/, '') : null
}

export class Stage {
  readonly facts: StageFacts
  readonly transcript = new Transcript()
  readonly task: Task
  readonly jobs = new Map<string, Job>()
  readonly etags = new Map<string, string>()
  readonly connections: Connection[] = []
  /** Of the workflow that is tested, not of reports. */
  readonly submissions: Submission[] = []
  /** Jobs by idempotency key, with the body that made them. */
  readonly kept = new Map<string, { body: string; job: Job }>()
  readonly followers = new Map<Job, Map<Connection, number>>()
  readonly calls: { name: CallName; entry: number; door: Call['door'] }[] = []
  readonly refusedEtags = new Set<string>()
  readonly notBefore = new Map<CallName, number>()
  /** Tokens that are good at present. */
  tokens: Set<string>
  jobsProfile: 'available' | 'unavailable' = 'available'
  violation: { reason: string; entry: number } | null = null
  /** What went wrong in the script itself. */
  fault: string | null = null
  reached = false
  connected = false
  report: Report | null = null
  /** A subscription was answered with a terminal snapshot: the client needs no more events. */
  toldEnd = false
  /** An answer that a script holds back. */
  firstAnswer: () => void = () => {}
  /** For the script's own counts. */
  readonly counts = new Map<string, number>()
  #taken = 0
  readonly #options: StageOptions
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(facts: StageFacts, options: StageOptions) {
    this.facts = facts
    this.#options = options
    const token = (n: number) => `${TOKEN}${facts.id}-${n}`
    this.tokens = new Set([token(1)])
    this.task = taskOf(facts.work, [token(1), token(2)], options.pace)
    for (const id of [GREETING_WORKFLOW, REPORT_WORKFLOW]) this.etags.set(id, `etag-1-of-${id}`)
  }

  /** Does a part of the script. What goes wrong in it is no fault of the client. */
  act(part: () => void): void {
    try {
      part()
    } catch (error) {
      this.fault ??= error instanceof Error ? error.message : String(error)
      this.transcript.note(`the script went wrong: ${this.fault}`)
      this.#options.changed()
    }
  }

  /** How often something has happened, this time included. */
  count(what: string): number {
    const times = (this.counts.get(what) ?? 0) + 1
    this.counts.set(what, times)
    return times
  }

  reach(): void {
    if (!this.reached) this.transcript.note('the step that matters is reached')
    this.reached = true
  }

  violate(reason: string, entry = this.transcript.entries.length - 1): void {
    if (this.violation) return
    this.violation = { reason, entry }
    this.transcript.note(`violation: ${reason}`)
    this.#options.changed()
  }

  /** Counts what the client has sent; false where that is too much, which breaks the rules as well. */
  take(bytes: number, where: string): boolean {
    this.#taken += bytes
    if (this.#taken <= MOST_BYTES) return true
    if (!this.violation) {
      const entry = this.transcript.add('from_client', where, 'more than is taken')
      this.violate(`the client sent more than ${MOST_BYTES} bytes`, entry)
    }
    return false
  }

  reported(report: Report): void {
    if (this.report) return
    this.report = report
    this.#options.changed()
  }

  /** Milliseconds of the contract, at the pace of this run. */
  paced(ms: number, least: number): number {
    return Math.max(least, ms * this.#options.pace)
  }

  after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.act(act)
    }, ms)
    this.#timers.add(timer)
  }

  /** Refuses a call; over HTTP it must not come again before `retry_after`. */
  refuse(call: Call, code: string, retry_after?: number): void {
    call.refuse(refusal(code), retry_after)
    if (retry_after !== undefined && call.door === 'http') {
      this.notBefore.set(call.name, performance.now() + retry_after * 1000)
    }
  }

  /** Makes the job of a submission, and keeps its key. */
  store({ data }: Pick<Call, 'data'>): Job {
    const workflow_id = String(data.workflow_id)
    const inputs = (data.inputs ?? {}) as Fields
    const report = workflow_id === REPORT_WORKFLOW
    const life = report ? REPORT_LIFE : (this.facts.life?.(inputs) ?? greetingLife(`Hello, ${inputs.name}!`))
    const job_id = `${report ? 'job_report' : (this.facts.job_id ?? 'job_greeting')}_${this.jobs.size + 1}`
    const job = this.addJob(job_id, workflow_id, life, inputs)
    job.stored = report ? life.length : (this.facts.stored ?? 1)
    if (typeof data.idempotency_key === 'string') this.kept.set(data.idempotency_key, { body: bodyOf(data), job })
    return job
  }

  addJob(job_id: string, workflow_id: string, life: readonly LifeItem[], inputs: Fields = {}, base = 0): Job {
    const workflow_etag = this.etags.get(workflow_id) ?? 'etag'
    const job = new Job({ job_id, workflow_id, workflow_etag, inputs, life, base })
    this.jobs.set(job_id, job)
    return job
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const connection of this.connections) connection.end()
  }
}

/** A submission without what may differ when it is sent again. */
export function bodyOf({ client_request_id: _, ...body }: Fields): string {
  return canonical(body)
}
