// How many bytes the temporary files of one user may take together, in all workspaces. Those that are being written count as well. Nothing of it
// is stored: what a user keeps is counted when it is first asked for, from the store and from rows, and kept count of from then on.
import { isUnavailableError, ServiceError } from '../../errors.ts'
import { ExpiringByteCount } from './expiring-byte-count.ts'

/** A file that is kept. */
export interface QuotaEntry {
  readonly key: string
  /** As the store or the row has them. */
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly expires_at: number
}

export interface TemporaryQuotaParts {
  /** Bytes of one user; 0 for no limit. */
  readonly limit: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /**
   * What the temporary store and rows of objects keep of a user. There may be very many: they come a few at a time. Where some cannot be told for
   * now, the others come, and then it throws SERVICE_UNAVAILABLE.
   */
  listFiles(user_id: string): AsyncIterable<QuotaEntry>
}

/** Room for one file while it is written. Dispose of it once the file is counted otherwise, or has come to nothing: the room is given back. */
export interface QuotaReservation extends Disposable {
  /** Counts so many bytes more. @throws TEMPORARY_QUOTA_EXCEEDED; then all its room is given back at once */
  take(bytes: number): void
  /** Passes a source on, and counts what passes. @throws as `take` does, and what the source throws */
  meter(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
}

/** How long a count is believed that may have one file twice, or may lack some. */
const RECOUNT_AFTER_MS = 60_000
const NEVER = Number.POSITIVE_INFINITY

interface QuotaAccount {
  kept: ExpiringByteCount
  /** What was replaced or removed and still lies on the disk: it may take as much again. No count finds it. */
  readonly left: ExpiringByteCount
  in_flight: number
  /** Reservations, and those who wait for one. */
  open: number
  /** Settles when what is kept has been counted; null before anybody asks. */
  counted: Promise<void> | null
  counted_at: number
  /** Whether something may be counted twice, or is missing. */
  doubtful: boolean
  /** Whether the last count could not be told of all files: nobody waits for the next one. */
  outage: boolean
  /** A count that is under way, and the keys of files that it need not find. */
  counting: { readonly kept: ExpiringByteCount; readonly known: Set<string> } | null
}

/**
 * `using room = await quota.reserve(user_id)`, write `room.of(source)`, then `kept`: for a file of the temporary store once it is there, for an object
 * with a row and a time of expiry once that is committed, before anything else happens. One that is replaced counts until then, and is `freed`.
 */
export class TemporaryQuota {
  readonly #parts: TemporaryQuotaParts
  readonly #accounts = new Map<string, QuotaAccount>()

  constructor(parts: TemporaryQuotaParts) {
    this.#parts = parts
  }

  /**
   * Room for a file of a user. `at_least` are bytes that are announced: where these have no room now, they are refused before any is read.
   * While the bucket of the store cannot be used, what was counted before counts, or else what lies on this machine.
   * @throws TEMPORARY_QUOTA_EXCEEDED, and what else the store throws while what is kept is counted
   */
  async reserve(user_id: string, at_least = 0): Promise<QuotaReservation> {
    const account = this.#accountOf(user_id)
    account.open += 1
    try {
      if (this.#parts.limit > 0) await this.#ensureCounted(user_id, account)
      this.#requireWithinLimit(account, { own: 0, more: at_least })
      return this.#reservation(account)
    } catch (error) {
      account.open -= 1
      throw error
    }
  }

  /** Counts a file that is there from now on. `again`: it may have been there before. */
  addFile(user_id: string, { key, bytes, expires_at }: QuotaEntry, again = false): void {
    const account = this.#accounts.get(user_id)
    if (!account?.counted) return
    account.kept.add(bytes, expires_at)
    account.counting?.kept.add(bytes, expires_at)
    account.counting?.known.add(key)
    if (again) account.doubtful = true
  }

  /** Counts a file out that was removed before its time. */
  removeFile(user_id: string, { bytes, expires_at }: QuotaEntry): void {
    const account = this.#accounts.get(user_id)
    if (!account?.counted) return
    // One that was counted from the store may have another minute there than its record says.
    const missed = account.kept.remove(bytes, expires_at) < bytes
    // Whether a count that is under way has seen it, nobody knows.
    if (missed || account.counting) account.doubtful = true
  }

  /** Counts bytes that nothing needs any more, for as long as they still lie on the disk. */
  addLingering(user_id: string, bytes: number, removed_at: number): void {
    if (removed_at > this.#parts.now()) this.#accountOf(user_id).left.add(bytes, removed_at)
  }

  /** Forgets users who keep nothing. */
  forgetIdleUsers(): void {
    const now = this.#parts.now()
    for (const [user_id, { kept, left, open, counting }] of this.#accounts)
      if (open === 0 && counting === null && kept.bytes(now) + left.bytes(now) === 0) this.#accounts.delete(user_id)
  }

  #accountOf(user_id: string): QuotaAccount {
    let account = this.#accounts.get(user_id)
    if (!account) {
      const empty = { kept: new ExpiringByteCount(), left: new ExpiringByteCount(), in_flight: 0, open: 0 }
      account = { ...empty, counted: null, counted_at: 0, doubtful: false, outage: false, counting: null }
      this.#accounts.set(user_id, account)
    }
    return account
  }

  #ensureCounted(user_id: string, account: QuotaAccount): Promise<void> {
    const old = account.doubtful && this.#parts.now() - account.counted_at >= RECOUNT_AFTER_MS
    if (account.counted && !(old && account.counting === null)) return account.counted
    const counting = this.#count(user_id, account).catch((error) => {
      account.counted = null
      throw error
    })
    if (!account.counted || !account.outage) account.counted = counting
    else counting.catch(() => {})
    return account.counted
  }

  async #count(user_id: string, account: QuotaAccount): Promise<void> {
    const isFirst = account.counted === null
    const counting = { kept: new ExpiringByteCount(), known: new Set<string>() }
    Object.assign(account, { counting, doubtful: false, counted_at: this.#parts.now() })
    try {
      account.outage = !(await this.#countFiles(user_id, counting))
      if (isFirst || !account.outage) account.kept = counting.kept
      if (account.outage) account.doubtful = true
    } finally {
      account.counting = null
    }
  }

  /** Whether all files could be told. */
  async #countFiles(user_id: string, { kept, known }: NonNullable<QuotaAccount['counting']>): Promise<boolean> {
    try {
      for await (const { key, bytes, expires_at } of this.#parts.listFiles(user_id))
        if (!known.has(key)) kept.add(bytes, expires_at)
      return true
    } catch (error) {
      if (isUnavailableError(error)) return false
      throw error
    }
  }

  #reservation(account: QuotaAccount): QuotaReservation {
    let [taken, open] = [0, 1]
    const give = () => {
      account.in_flight -= taken
      taken = 0
    }
    const take = (bytes: number) => {
      account.in_flight += bytes
      taken += bytes
      try {
        this.#requireWithinLimit(account, { own: taken, more: 0 })
      } catch (error) {
        give()
        throw error
      }
    }
    const end = () => {
      give()
      account.open -= open
      open = 0
    }
    return { take, meter: (source) => meterBytes(source, take), [Symbol.dispose]: end }
  }

  /** @throws TEMPORARY_QUOTA_EXCEEDED where there are too many with `more` of them; `own` are those of whoever asks */
  #requireWithinLimit(account: QuotaAccount, { own, more }: { own: number; more: number }): void {
    const { limit, now } = this.#parts
    if (limit === 0) return
    const at = now()
    const { kept, left, in_flight } = account
    const used = kept.bytes(at) + in_flight
    if (used + more > limit) throw quotaExceededError(usedMessage(used - own, limit), at, kept.next_at)
    if (left.bytes(at) > limit) throw quotaExceededError(lingeringMessage(left.bytes(at), limit), at, left.next_at)
  }
}

async function* meterBytes(
  source: AsyncIterable<Uint8Array>,
  take: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    take(piece.length)
    yield piece
  }
}

function usedMessage(used: number, limit: number): string {
  return `Your temporary files take ${used} of ${limit} bytes, other uploads under way included`
}

function lingeringMessage(bytes: number, limit: number): string {
  return `Temporary files that you replaced or deleted still take ${bytes} bytes, more than ${limit}`
}

function quotaExceededError(state: string, now: number, next_at: number): ServiceError {
  const code = 'TEMPORARY_QUOTA_EXCEEDED'
  if (next_at === NEVER) return new ServiceError(code, { message: `${state}.` })
  const message = `${state}; the first of them go at ${new Date(next_at).toISOString()}.`
  return new ServiceError(code, { message, headers: { 'Retry-After': String(Math.ceil((next_at - now) / 1_000)) } })
}
