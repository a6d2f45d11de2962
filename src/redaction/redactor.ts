// Replaces secrets in everything that is served or logged. It knows their values; which there are is said by those who have them.
import type { Steps } from '../shared/time-slices.ts'
import { REDACTION_MARK } from './credentials/patterns.ts'
import { mayHoldCredentials, redactCredentials, redactNamedCredentials } from './credentials/redaction.ts'
import { redactTextSteps } from './long-text-redaction.ts'
import { MIN_SECRET_LENGTH } from './matching/secret-encodings.ts'
import { SecretIndex } from './matching/secret-index.ts'
import type { RedactionOptions } from './options.ts'
import { EagerSecretReplacer } from './streams/eager-secret-replacer.ts'
import { type Continuation, SecretReplacer } from './streams/secret-replacer.ts'
import { ValueRedactor } from './value-redactor.ts'

/** Where a message leaves out the rest of a text. */
const ELLIPSIS = '…'

/**
 * Replaces, by `[redacted]`, secrets of 8 or more characters in their usual forms, authorization values, and tokens of this service.
 * What holds none of them is given back as it came, the same object; nothing is changed in place.
 */
export class Redactor {
  readonly #index: SecretIndex
  /** Whose secrets it replaces besides the service's; null: everybody's. */
  readonly #owner: string | null

  constructor(secrets: Iterable<string> = [], known = new SecretIndex(), owner: string | null = null) {
    this.#index = known
    this.#owner = owner
    for (const secret of secrets) this.add(secret)
  }

  /**
   * The same one for what an owner is shown of their own work. Secrets of others are none there: whoever sets a word as a secret would otherwise
   * blot it out in the work of all, and whoever meets a hole would know what somebody has set.
   */
  forOwner(owner: string): Redactor {
    return new Redactor([], this.#index, owner)
  }

  /** From now on `secret` is replaced, unless it has less than 8 characters. `owner`: whose it is; null: the service's. */
  add(secret: string, owner: string | null = null): void {
    if (secret.length >= MIN_SECRET_LENGTH) this.#index.add(secret, owner)
  }

  /** Takes back one `add`: the secret is shown again when all are taken back. */
  remove(secret: string, owner: string | null = null): void {
    this.#index.remove(secret, owner)
  }

  /** In how many forms a secret that was added is looked for. */
  countForms(secret: string): number {
    return this.#index.countForms(secret)
  }

  /** A quick look at a text, JSON included: false where nothing would be replaced in it. */
  mayNeedRedaction(text: string): boolean {
    return this.#index.mayHold(text, this.#owner) || mayHoldCredentials(text)
  }

  text(text: string, { names = false, credentials = true }: RedactionOptions = {}): string {
    const known = this.#index.replace(text, REDACTION_MARK, this.#owner)
    if (!credentials) return known
    if (names) return redactNamedCredentials(known)
    return mayHoldCredentials(known) ? redactCredentials(known) : known
  }

  /**
   * As `text`, for a message, which may quote other texts and cut them with `…`: what is left of a secret of the owner there is replaced like the
   * whole. Of the service's only whole ones are, since anybody may quote what begins like one.
   */
  message(text: string): string {
    const parts = this.text(text).split(ELLIPSIS)
    if (this.#owner === null || parts.length === 1) return parts.join(ELLIPSIS)
    return parts.map((part, at) => this.#redactPart(part, at < parts.length - 1 ? 'missing' : 'none')).join(ELLIPSIS)
  }

  /** What is shorter than any secret tells none. */
  #redactPart(part: string, rest: Continuation): string {
    return part.length < MIN_SECRET_LENGTH ? part : this.createStreamReplacer().push(part, rest)
  }

  /**
   * For one text that comes in pieces: replaces the secrets in it, and leaves credentials. It waits for the owner's own secrets alone: the service's are
   * replaced where all of one is at hand, so that nobody learns from what waits how one begins.
   */
  createStreamReplacer(): SecretReplacer {
    return new SecretReplacer(this.#index.createMatcher(this.#owner, 'own'), REDACTION_MARK)
  }

  /** For one text that is here as a whole, and looked at part by part: replaces all secrets in it, as `text` does. */
  createTextReplacer(): SecretReplacer {
    return new SecretReplacer(this.#index.createMatcher(this.#owner), REDACTION_MARK)
  }

  /** A JSON text: the same one where nothing is replaced, and otherwise one that is still JSON. */
  payload(json: string): string {
    if (!this.mayNeedRedaction(json)) return json
    const value: unknown = JSON.parse(json)
    const redacted = this.value(value)
    return redacted === value ? json : JSON.stringify(redacted)
  }

  /** A JSON value, keys as well as values; it may hold bytes, which stay as they are. Of keys that become the same, the last counts. */
  value<T>(value: T, options: RedactionOptions = {}): T {
    if (typeof value === 'string') return this.text(value, options) as T
    return new ValueRedactor(this, this.#index.hasNumericSecrets, options).value(value, 0) as T
  }

  /** As `value`, in steps. */
  valueSteps<T>(value: T, options: RedactionOptions = {}): Steps<T> {
    return new ValueRedactor(this, this.#index.hasNumericSecrets, options).redactSteps(value, 0) as Steps<T>
  }

  /** As `text`, in steps. */
  textSteps(text: string, options: RedactionOptions = {}): Steps<string> {
    return redactTextSteps(this, text, options)
  }

  /** False where a text, JSON included, holds no known secret. */
  mayHoldSecret(text: string): boolean {
    return this.#index.mayHold(text, this.#owner)
  }

  /** For a text of others that comes in pieces: replaces the secrets in it, leaves credentials, and holds back no beginning that may be a guess. */
  createEagerReplacer(): EagerSecretReplacer {
    return new EagerSecretReplacer(this.#index.createEagerMatcher(this.#owner), REDACTION_MARK)
  }

  /** Headers by name, or a list of names and values in turn. */
  headers<T extends object>(headers: T): T {
    return this.value(headers, { names: true })
  }
}
