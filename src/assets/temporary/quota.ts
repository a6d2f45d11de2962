// TemporaryQuota limits the bytes of temporary files of each user across all workspaces, including uploads under way. It stores nothing. It
// counts a user's files from the store and from rows when they are first needed, and updates the count from then on.
import { isUnavailableError, ServiceError } from '../../errors.ts'
import { ExpiringByteCount } from './expiring-byte-count.ts'

/** A stored file. */
export interface QuotaEntry {
  readonly key: string
  /** Size as the store or the row gives it. */
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly expires_at: number
}

export interface TemporaryQuotaParts {
  /** Bytes that one user may take; 0 for no limit. */
  readonly limit: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /**
   * Lists the stored files of a user, a few at a time because there may be very many. If some cannot be listed for now, it yields the
   * others and then throws SERVICE_UNAVAILABLE.
   */
  listFiles(user_id: string): AsyncIterable<QuotaEntry>
}

/**
 * Reserved bytes for one file while it is written. The caller disposes of the reservation once the file is counted by `addFile` or was not
 * stored; this releases the bytes.
 */
export interface QuotaReservation extends Disposable {
  /** Reserves more bytes. @throws TEMPORARY_QUOTA_EXCEEDED; then all bytes of the reservation are released at once */
  take(bytes: number): void
  /** Passes a source through and reserves its bytes. @throws what `take` throws, and what the source throws */
  meter(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
}

/** How long a count is used that may count one file twice, or miss one. */
const RECOUNT_AFTER_MS = 60_000
const NEVER = Number.POSITIVE_INFINITY

interface QuotaAccount {
  kept: ExpiringByteCount
  /** Bytes of files that were replaced or removed and still lie on the disk. They may take the limit once more, and no listing finds them. */
  readonly left: ExpiringByteCount
  in_flight: number
  /** Number of reservations, and of calls that wait for one. */
  open: number
  /** Resolves when the files have been counted; null before the first use. */
  counted: Promise<void> | null
  counted_at: number
  /** Whether a file may be counted twice or missing. */
  doubtful: boolean
  /** Whether the last count could not list all files. Then no call waits for the next count. */
  outage: boolean
  /** The count that is under way, and the keys that it has to skip. */
  counting: { readonly kept: ExpiringByteCount; readonly known: Set<string> } | null
}

/**
 * Usage: `using reservation = await quota.reserve(user_id)`, write `reservation.meter(source)`, then call `addFile`. For a file of the
 * temporary store call it once the file is stored; for an object with a row and an expiry, immediately after the commit. A replaced file
 * counts until then, and is passed to `removeFile`.
 */
export class TemporaryQuota {
  readonly #parts: TemporaryQuotaParts
  readonly #accounts = new Map<string, QuotaAccount>()

  constructor(parts: TemporaryQuotaParts) {
    this.#parts = parts
  }

  /**
   * Reserves room for a file of a user. `at_least`: announced bytes, which are refused before any is read if they do not fit now. While the
   * bucket of the store cannot be used, the last count applies, or else the files on this machine.
   * @throws TEMPORARY_QUOTA_EXCEEDED, and the errors of the store while files are counted
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

  /** Counts a stored file. `again`: the file may have been stored, and counted, before. */
  addFile(user_id: string, { key, bytes, expires_at }: QuotaEntry, again = false): void {
    const account = this.#accounts.get(user_id)
    if (!account?.counted) return
    account.kept.add(bytes, expires_at)
    account.counting?.kept.add(bytes, expires_at)
    account.counting?.known.add(key)
    if (again) account.doubtful = true
  }

  /** Subtracts a file that was removed before its expiry. */
  removeFile(user_id: string, { bytes, expires_at }: QuotaEntry): void {
    const account = this.#accounts.get(user_id)
    if (!account?.counted) return
    // A file that was counted from the store may have another minute there than in its record.
    const missed = account.kept.remove(bytes, expires_at) < bytes
    // A count that is under way may or may not have counted the file.
    if (missed || account.counting) account.doubtful = true
  }

  /** Counts bytes that no row needs any more, for as long as they still lie on the disk. */
  addLingering(user_id: string, bytes: number, removed_at: number): void {
    if (removed_at > this.#parts.now()) this.#accountOf(user_id).left.add(bytes, removed_at)
  }

  /** Forgets users without stored files. */
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

  /** Whether all files could be listed. */
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

  /** `own`: the bytes that the caller has reserved already. @throws TEMPORARY_QUOTA_EXCEEDED if the limit is exceeded with `more` bytes */
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
  return `Your temporary files take ${used} of ${limit} bytes, including other uploads under way`
}

function lingeringMessage(bytes: number, limit: number): string {
  return `Temporary files that you replaced or deleted still take ${bytes} bytes, more than ${limit}`
}

function quotaExceededError(state: string, now: number, next_at: number): ServiceError {
  const code = 'TEMPORARY_QUOTA_EXCEEDED'
  if (next_at === NEVER) return new ServiceError(code, { message: `${state}.` })
  const message = `${state}; the first of them expire at ${new Date(next_at).toISOString()}.`
  return new ServiceError(code, { message, headers: { 'Retry-After': String(Math.ceil((next_at - now) / 1_000)) } })
}
