// Follows one job to its end, over as many sockets as that takes.
import type { SecondClient } from './client.ts'
import { ClientError, type Flaw, pause } from './flaws.ts'
import { mayTryAgain, waitFor } from './http.ts'

type Fields = Record<string, unknown>

const TERMINAL: readonly unknown[] = ['completed', 'failed', 'cancelled']
const KNOWN: readonly unknown[] = ['job_status', 'node_status', 'output_update', 'job_terminal']
/** A missing event gets so long to come after all. */
const GAP_MS = 40
const ATTEMPTS = 8

export class Follower {
  status = 'accepted'
  snapshot: Fields | null = null
  /** What the last output event said. */
  lastOutput: unknown = null
  /** The sequences that were processed, in that order. */
  readonly events: number[] = []
  readonly #client: SecondClient
  readonly #job_id: string
  readonly #waiting = new Map<number, Fields>()
  readonly #changes = new Set<() => void>()
  #sequence: number
  #live = false
  #failure: ClientError | null = null
  #gap: Promise<void> | null = null

  constructor(client: SecondClient, job_id: string, after: number) {
    this.#client = client
    this.#job_id = job_id
    this.#sequence = after
  }

  get flaws(): ReadonlySet<Flaw> {
    return this.#client.settings.flaws
  }

  get ended(): boolean {
    return this.snapshot !== null || this.#ends(this.status)
  }

  /** Follows it to its end. @throws ClientError */
  async run(): Promise<void> {
    const { link } = this.#client
    const listener = { frame: (frame: Fields) => this.#frame(frame), lost: () => this.#lost() }
    link.listeners.add(listener)
    try {
      while (!this.ended) {
        await this.#subscribe()
        await this.until(() => this.ended || !this.#live)
      }
      if (this.#flaw('never-final')) await pause(30, this.#client.settings.signal)
    } finally {
      link.listeners.delete(listener)
    }
  }

  /** Waits for a condition of the job. @throws ClientError */
  async until(condition: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure
      if (condition()) return
      await new Promise<void>((resolve) => {
        this.#changes.add(resolve)
        this.#client.settings.signal.addEventListener('abort', () => this.#fail(new ClientError('ABORTED', false)), {
          once: true,
        })
      })
      this.#changes.clear()
    }
  }

  /** Takes a snapshot as the state of the job. */
  take(snapshot: Fields, stands: boolean): void {
    const older = Number(snapshot.last_sequence) < this.#sequence && !TERMINAL.includes(snapshot.status)
    if (!older || this.#flaw('older-snapshot-rules')) this.status = String(snapshot.status)
    if (TERMINAL.includes(snapshot.status) && !this.#flaw('events-only-end')) this.snapshot = snapshot
    if (stands) this.#skipTo(Number(snapshot.last_sequence))
    this.#changed()
  }

  /** Ends with what is known. */
  endAs(status: string): void {
    this.status = status
    this.snapshot ??= { status }
    this.#changed()
  }

  async #subscribe(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.#failure) throw this.#failure
      this.#live = true
      const data = { job_id: this.#job_id, after_sequence: this.#sequence }
      const answer = await this.#client.link.rpc('subscribe_job', data).catch((error: ClientError) => error)
      if (!(answer instanceof Error)) return this.#subscribed(answer)
      const final = answer.code === 'CONNECTION_LOST' && this.#flaw('lost-subscription-fails')
      const again = this.#flaw('asks-without-end') && answer.code === 'JOB_NOT_FOUND'
      if (answer.code === 'JOB_EXPIRED' && this.#flaw('expired-is-not-found'))
        throw new ClientError('JOB_NOT_FOUND', false)
      if (!again && (final || !mayTryAgain(this.#client.settings, answer) || attempt >= ATTEMPTS)) throw answer
      await waitFor(this.#client.settings, answer, attempt)
    }
  }

  #subscribed(answer: Fields): void {
    const snapshot = answer.snapshot as Fields
    const expired = answer.replay_from_sequence === null && !this.#flaw('waits-for-expired')
    const ended = TERMINAL.includes(snapshot.status)
    // The events that the answer announces come right after it, and the end is among them.
    if (expired || (ended && answer.replay_from_sequence === null)) this.take(snapshot, expired)
    else if (!ended && Number(snapshot.last_sequence) > this.#sequence) this.status = String(snapshot.status)
    if (this.#flaw('after-snapshot-sequence')) this.#sequence = Number(snapshot.last_sequence)
    this.#changed()
  }

  #lost(): void {
    this.#live = false
    if (this.#flaw('loss-is-end')) this.endAs(this.status)
    if (this.#flaw('loss-is-cancelled') && this.status === 'cancel_requested') this.endAs('cancelled')
    if (this.#flaw('resubmits-after-loss') || this.#flaw('close-is-fatal'))
      this.#fail(new ClientError('CONNECTION_LOST', false))
    if (this.#flaw('starts-over')) this.#sequence = 0
    this.#changed()
  }

  #frame({ job_id, event }: Fields): void {
    if (job_id !== this.#job_id && !this.#flaw('events-of-any-job')) return
    if (this.ended && !this.#flaw('never-final')) return
    const fields = event as Fields
    const stray = fields.job_id !== this.#job_id
    if (stray && !this.#flaw('events-of-any-job') && !this.#flaw('trusts-the-frame')) return
    const sequence = this.#flaw('sequences-32-bits') ? Number(fields.sequence) | 0 : Number(fields.sequence)
    if (this.#flaw('keeps-duplicates') || this.#flaw('never-final')) this.#process(sequence, fields)
    else if (this.#flaw('order-of-arrival')) {
      if (!this.events.includes(sequence)) this.#process(sequence, fields)
    } else if (sequence > this.#sequence) {
      if (this.#flaw('passes-over-gaps') || this.#flaw('sequences-32-bits')) this.#process(sequence, fields)
      else this.#waiting.set(sequence, fields)
    }
    this.#drain()
    this.#changed()
  }

  #drain(): void {
    for (;;) {
      const next = this.#waiting.get(this.#sequence + 1)
      if (!next) break
      this.#waiting.delete(this.#sequence + 1)
      this.#process(this.#sequence + 1, next)
    }
    if (this.#waiting.size > 0 && !this.#flaw('waits-for-expired')) {
      this.#gap ??= this.#mend().catch((error: ClientError) => {
        if (!error.retryable) this.#fail(error)
      })
    }
  }

  /** A sequence is missing: it is waited for a little, and then a snapshot taken. */
  async #mend(): Promise<void> {
    try {
      await pause(GAP_MS, this.#client.settings.signal)
      if (this.#waiting.size > 0 && !this.ended) this.take(await this.#client.snapshot(this.#job_id), true)
    } finally {
      this.#gap = null
    }
    this.#drain()
    this.#changed()
  }

  #skipTo(sequence: number): void {
    this.#sequence = Math.max(this.#sequence, sequence)
    for (const waiting of [...this.#waiting.keys()]) if (waiting <= this.#sequence) this.#waiting.delete(waiting)
    this.#drain()
  }

  #process(sequence: number, event: Fields): void {
    this.#sequence = sequence
    if (!KNOWN.includes(event.type)) {
      if (this.#flaw('hands-on-unknown')) this.events.push(sequence)
      return
    }
    this.events.push(sequence)
    if (event.type === 'job_status') this.status = String(event.status)
    if (event.type === 'output_update') this.lastOutput = event.value
    if (event.type === 'job_terminal') {
      this.status = String(event.status)
      this.snapshot = event.snapshot as Fields
    }
  }

  #ends(status: string): boolean {
    return (
      (status === 'suspended' && this.#flaw('suspended-ends')) ||
      (status === 'recovering' && this.#flaw('recovering-ends'))
    )
  }

  #flaw(flaw: Flaw): boolean {
    return this.#client.settings.flaws.has(flaw)
  }

  #fail(error: ClientError): void {
    this.#failure ??= error
    this.#changed()
  }

  #changed(): void {
    for (const change of this.#changes) change()
  }
}
