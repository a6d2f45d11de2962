// Replaces secrets in everything that is served or logged. It knows their values; which there are is said by those who have them.
import type { Steps } from '../time-slices.ts'
import { maySayCredentials, withoutCredentials, withoutNamed } from './credentials.ts'
import { Finder } from './finder.ts'
import { SHORTEST_SECRET } from './forms.ts'
import type { RedactionOptions } from './options.ts'
import { SecretTail } from './secret-tail.ts'
import { type Rest, SecretsInPieces } from './secrets.ts'
import { MARK } from './shapes.ts'
import { textSteps } from './text-steps.ts'
import { Walk } from './walk.ts'

/** Where a message leaves out the rest of a text. */
const CUT = '…'

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

  /** In how many forms a secret that was added is looked for. */
  formsOf(secret: string): number {
    return this.#secrets.formsOf(secret)
  }

  /** A quick look at a text, JSON included: false where nothing would be replaced in it. */
  mayHold(text: string): boolean {
    return this.#secrets.mayHold(text, this.#owner) || maySayCredentials(text)
  }

  text(text: string, { names = false, credentials = true }: RedactionOptions = {}): string {
    const known = this.#secrets.replace(text, MARK, this.#owner)
    if (!credentials) return known
    if (names) return withoutNamed(known)
    return maySayCredentials(known) ? withoutCredentials(known) : known
  }

  /**
   * As `text`, for a message, which may quote other texts and cut them with `…`: what is left of a secret of the owner there is replaced like the
   * whole. Of the service's only whole ones are, since anybody may quote what begins like one.
   */
  message(text: string): string {
    const parts = this.text(text).split(CUT)
    if (this.#owner === null || parts.length === 1) return parts.join(CUT)
    return parts.map((part, at) => this.#part(part, at < parts.length - 1 ? 'missing' : 'none')).join(CUT)
  }

  /** What is shorter than any secret tells none. */
  #part(part: string, rest: Rest): string {
    return part.length < SHORTEST_SECRET ? part : this.secretsInPieces().push(part, rest)
  }

  /**
   * For one text that comes in pieces: replaces the secrets in it, and leaves credentials. It waits for the owner's own secrets alone: the service's are
   * replaced where all of one is at hand, so that nobody learns from what waits how one begins.
   */
  secretsInPieces(): SecretsInPieces {
    return new SecretsInPieces(this.#secrets.secretsOf(this.#owner, 'own'), MARK)
  }

  /** For one text that is here as a whole, and looked at part by part: replaces all secrets in it, as `text` does. */
  secretsInParts(): SecretsInPieces {
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
  value<T>(value: T, options: RedactionOptions = {}): T {
    if (typeof value === 'string') return this.text(value, options) as T
    return new Walk(this, this.#secrets.numeric, options).value(value, 0) as T
  }

  /** As `value`, in steps. */
  valueSteps<T>(value: T, options: RedactionOptions = {}): Steps<T> {
    return new Walk(this, this.#secrets.numeric, options).steps(value, 0) as Steps<T>
  }

  /** As `text`, in steps. */
  textSteps(text: string, options: RedactionOptions = {}): Steps<string> {
    return textSteps(this, text, options)
  }

  /** False where a text, JSON included, holds no known secret. */
  mayHoldSecret(text: string): boolean {
    return this.#secrets.mayHold(text, this.#owner)
  }

  /** For a text of others that comes in pieces: replaces the secrets in it, leaves credentials, and holds back no beginning that may be a guess. */
  secretTail(): SecretTail {
    return new SecretTail(this.#secrets.tailSecretsOf(this.#owner), MARK)
  }

  /** Headers by name, or a list of names and values in turn. */
  headers<T extends object>(headers: T): T {
    return this.value(headers, { names: true })
  }
}
