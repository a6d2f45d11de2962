// Replaces secrets in everything that is served or logged. It knows their values; which there are is said by those who have them.
import { isHeaderName, isTellingName, maySayCredentials, withoutCredentials, withoutNamed } from './credentials.ts'
import { Finder } from './finder.ts'
import { SHORTEST_SECRET } from './forms.ts'
import { SecretsInPieces } from './secrets.ts'
import { MARK } from './shapes.ts'

export interface RedactionOptions {
  /**
   * Replaces besides what stands under names such as `password` or `cookie`. For logs and provenance: an output of a job that is
   * called "password" is what its owner asked for.
   */
  readonly names?: boolean
}

/** What is nested deeper is not looked at, and so is not shown. */
const DEEPEST = 500

const UNDER_WAY = Symbol()

/**
 * Replaces, by `[redacted]`, secrets of 8 or more characters in their usual forms, authorization values, and tokens of this service.
 * What holds none of them is given back as it came, the same object; nothing is changed in place.
 */
export class Redactor {
  readonly #secrets: Finder
  /** Whose secrets it replaces besides the service's; null: everybody's. */
  readonly #owner: string | null

  constructor(secrets: Iterable<string> = [], known = new Finder(), owner: string | null = null) {
    this.#secrets = known
    this.#owner = owner
    for (const secret of secrets) this.add(secret)
  }

  /**
   * The same one for what an owner is shown of their own work. Secrets of others are none there: whoever sets a word as a secret would otherwise
   * blot it out in the work of all, and whoever meets a hole would know what somebody has set.
   */
  of(owner: string): Redactor {
    return new Redactor([], this.#secrets, owner)
  }

  /** From now on `secret` is replaced, unless it has less than 8 characters. `owner`: whose it is; null: the service's. */
  add(secret: string, owner: string | null = null): void {
    if (secret.length >= SHORTEST_SECRET) this.#secrets.add(secret, owner)
  }

  /** Takes back one `add`: the secret is shown again when all are taken back. */
  forget(secret: string, owner: string | null = null): void {
    this.#secrets.forget(secret, owner)
  }

  /** A quick look at a text, JSON included: false where nothing would be replaced in it. */
  mayHold(text: string): boolean {
    return this.#secrets.mayHold(text) || maySayCredentials(text)
  }

  text(text: string, { names = false }: RedactionOptions = {}): string {
    const known = this.#secrets.replace(text, MARK, this.#owner)
    if (names) return withoutNamed(known)
    return maySayCredentials(known) ? withoutCredentials(known) : known
  }

  /** For one text that comes in pieces: replaces the secrets in it, and leaves credentials. */
  secretsInPieces(): SecretsInPieces {
    return new SecretsInPieces(this.#secrets.secretsOf(this.#owner), MARK)
  }

  /** A JSON text: the same one where nothing is replaced, and otherwise one that is still JSON. */
  payload(json: string): string {
    if (!this.mayHold(json)) return json
    const value: unknown = JSON.parse(json)
    const redacted = this.value(value)
    return redacted === value ? json : JSON.stringify(redacted)
  }

  /** A JSON value, keys as well as values; it may hold bytes, which stay as they are. Of keys that become the same, the last counts. */
  value<T>(value: T, { names = false }: RedactionOptions = {}): T {
    if (typeof value === 'string') return this.text(value, { names }) as T
    return new Walk(this, this.#secrets.numeric, names).value(value, 0) as T
  }

  /** Headers by name, or a list of names and values in turn. */
  headers<T extends object>(headers: T): T {
    return this.value(headers, { names: true })
  }
}

/** One walk over one value. What is met twice is looked at once; what holds itself is cut there, since it has no end. */
class Walk {
  readonly #redactor: Redactor
  readonly #numeric: boolean
  readonly #options: RedactionOptions
  readonly #met = new Map<object, unknown>()

  constructor(redactor: Redactor, numeric: boolean, names: boolean) {
    this.#redactor = redactor
    this.#numeric = numeric
    this.#options = { names }
  }

  value(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#redactor.text(value, this.#options)
    if (typeof value === 'number') return this.#number(value)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    const met = this.#met.get(value)
    if (met === UNDER_WAY || depth === DEEPEST) return MARK
    if (met !== undefined) return met
    this.#met.set(value, UNDER_WAY)
    const redacted = Array.isArray(value) ? this.#list(value, depth) : this.#record(value as Fields, depth)
    this.#met.set(value, redacted)
    return redacted
  }

  #number(value: number): unknown {
    if (!this.#numeric) return value
    const written = String(value)
    return this.#redactor.text(written) === written ? value : MARK
  }

  #list(list: readonly unknown[], depth: number): unknown[] {
    const redacted = list.map((item, at) => (this.#follows(list, at) ? MARK : this.value(item, depth + 1)))
    return redacted.some((item, at) => !Object.is(item, list[at])) ? redacted : (list as unknown[])
  }

  /** Whether an item is the value of the header that is named before it, as in lists of names and values in turn. */
  #follows(list: readonly unknown[], at: number): boolean {
    if (!this.#options.names || at % 2 === 0 || typeof list[at] !== 'string') return false
    const name = list[at - 1]
    return typeof name === 'string' && isHeaderName(name)
  }

  #record(record: Fields, depth: number): Fields {
    let changed = false
    const entries: [string, unknown][] = []
    const named = this.#options.names === true && holdsNamed(record)
    for (const key of Object.keys(record)) {
      const value = record[key]
      const hidden =
        this.#options.names === true && (isTellingName(key) || (named && key === 'value')) && isSomething(value)
      const redacted = hidden ? MARK : this.value(value, depth + 1)
      const name = this.#redactor.text(key)
      changed ||= name !== key || !Object.is(redacted, value)
      entries.push([name, redacted])
    }
    return changed ? Object.fromEntries(entries) : record
  }
}

type Fields = Record<string, unknown>

/** Such as `{"name": "Cookie", "value": …}`. */
function holdsNamed({ name, key }: Fields): boolean {
  return [name, key].some((one) => typeof one === 'string' && isTellingName(one))
}

/** What says nothing is no credential. */
function isSomething(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean'
}
