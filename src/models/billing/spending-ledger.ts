// Sums the cost of all calls by day (UTC), user and model, and the share that users paid themselves. Today's sums are in memory and reach the disk
// within a second. Calls do not wait for that: a crash loses the last second of the day's sums. A job stores its own spending and loses nothing.
import { addModelSpending, deleteModelSpendingBefore, listModelSpending } from '../../db/model-spending.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Store } from '../../db/store.ts'
import type { ModelSpendingTable } from '../../db/tables/users.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import type { BilledParty } from './billed-party.ts'
import { LIMIT_CURRENCY } from './spending-limit.ts'

const FLUSH_MS = 1_000
const DAY_MS = 86_400_000
/** How long the sums of a day are kept. */
const KEPT_DAYS = 400

interface SpendingLedgerParts {
  readonly store: Store
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
}

export class SpendingLedger implements AsyncDisposable {
  readonly #parts: SpendingLedgerParts
  readonly #pending = new Map<string, ModelSpendingTable>()
  /** What the operator paid today, by user, in the currency of the limits. */
  readonly #byUser = new Map<string, number>()
  #totalToday = 0
  #day = ''
  /** `#day` as days since 1970. */
  #dayNumber = Number.NaN
  #timer: NodeJS.Timeout | null = null
  #closed = false
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: SpendingLedgerParts) {
    this.#parts = parts
    this.#startDayIfNew()
  }

  /** What the operator has paid today: for a user, or for all users where `user_id` is null. */
  spent(user_id: string | null): number {
    this.#startDayIfNew()
    return user_id === null ? this.#totalToday : (this.#byUser.get(user_id) ?? 0)
  }

  /** Seconds until the next day begins. */
  get resets_in(): number {
    return Math.ceil((DAY_MS - (this.#parts.platform.now() % DAY_MS)) / 1_000)
  }

  add(
    { user_id, workspace_id }: OwnerScope,
    { model, input_tokens, output_tokens, cost }: ModelUsage,
    payer: BilledParty = 'operator',
  ): void {
    this.#startDayIfNew()
    const [amount, currency] = [cost?.amount ?? 0, cost?.currency ?? '']
    const of = { day: this.#day, user_id, workspace: workspace_id ?? '', model, currency }
    const row = { ...of, calls: 1, input_tokens, output_tokens, amount, own_amount: payer === 'caller' ? amount : 0 }
    this.#addToToday(row)
    this.#enqueue(row)
  }

  /** Resolves when the pending sums are on disk, or could not be written. */
  async whenFlushed(): Promise<void> {
    this.#flush()
    await this.#writing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.whenFlushed()
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  #enqueue(row: ModelSpendingTable): void {
    const { day, user_id, workspace, model, currency } = row
    const key = JSON.stringify([day, user_id, workspace, model, currency])
    const queued = this.#pending.get(key)
    this.#pending.set(key, queued ? addRows(queued, row) : row)
    if (this.#closed) return
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
  }

  #addToToday({ user_id, currency, amount, own_amount }: ModelSpendingTable): void {
    if (currency !== LIMIT_CURRENCY) return
    const paid = amount - (own_amount ?? 0)
    this.#totalToday += paid
    this.#byUser.set(user_id, (this.#byUser.get(user_id) ?? 0) + paid)
  }

  #startDayIfNew(): void {
    const now = this.#parts.platform.now()
    const dayNumber = Math.floor(now / DAY_MS)
    if (dayNumber === this.#dayNumber) return
    const day = formatDay(now)
    this.#dayNumber = dayNumber
    this.#day = day
    this.#totalToday = 0
    this.#byUser.clear()
    for (const row of this.#parts.store.read((tx) => listModelSpending(tx, day))) this.#addToToday(row)
    for (const row of this.#pending.values()) if (row.day === day) this.#addToToday(row)
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#pending.size === 0) return
    const rows = [...this.#pending.values()]
    this.#pending.clear()
    const before = this.#writing
    this.#writing = before.then(() => this.#write(rows))
  }

  async #write(rows: readonly ModelSpendingTable[]): Promise<void> {
    const { store, platform, log } = this.#parts
    try {
      await store.write((tx) => {
        for (const row of rows) addModelSpending(tx, row)
        deleteModelSpendingBefore(tx, formatDay(platform.now() - KEPT_DAYS * DAY_MS))
      })
    } catch (err) {
      log.error({ err }, 'model spending could not be written')
      for (const row of rows) this.#enqueue(row)
    }
  }
}

function addRows(a: ModelSpendingTable, b: ModelSpendingTable): ModelSpendingTable {
  return {
    ...a,
    calls: a.calls + b.calls,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    amount: a.amount + b.amount,
    own_amount: (a.own_amount ?? 0) + (b.own_amount ?? 0),
  }
}

function formatDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
