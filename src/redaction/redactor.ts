// Redacts everything that is served or logged. The owners of secrets register them here.
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

/** Messages use it in place of omitted text. */
const ELLIPSIS = '…'

/**
 * Replaces secrets of 8 or more characters in their usual forms, authorization values, and tokens of this service, by
 * `[redacted]`. Returns the same object if nothing is replaced; never changes an object in place.
 */
export class Redactor {
  readonly #index: SecretIndex
  /** The owner whose secrets are replaced besides those of the service; null for all owners. */
  readonly #owner: string | null

  constructor(secrets: Iterable<string> = [], known = new SecretIndex(), owner: string | null = null) {
    this.#index = known
    this.#owner = owner
    for (const secret of secrets) this.add(secret)
  }

  /**
   * A redactor for what an owner sees of their own work. It ignores secrets of other owners. Otherwise a user could
   * hide a word from all others by setting it as a secret, and others would learn that it is a secret.
   */
  forOwner(owner: string): Redactor {
    return new Redactor([], this.#index, owner)
  }

  /** Registers a secret; secrets of less than 8 characters are ignored. A null owner means the service. */
  add(secret: string, owner: string | null = null): void {
    if (secret.length >= MIN_SECRET_LENGTH) this.#index.add(secret, owner)
  }

  /** Undoes one `add`: the secret is shown again when all are undone. */
  remove(secret: string, owner: string | null = null): void {
    this.#index.remove(secret, owner)
  }

  /** The number of searched forms of a registered secret. */
  countForms(secret: string): number {
    return this.#index.countForms(secret)
  }

  /** A quick check of a text, also of JSON: false if nothing would be replaced. */
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
   * Like `text`, for a message that may quote texts cut with `…`: the rest of a cut secret of the owner is replaced.
   * Secrets of the service are replaced only when complete, since anyone may quote a text with the same prefix.
   */
  message(text: string): string {
    const parts = this.text(text).split(ELLIPSIS)
    if (this.#owner === null || parts.length === 1) return parts.join(ELLIPSIS)
    return parts.map((part, at) => this.#redactPart(part, at < parts.length - 1 ? 'missing' : 'none')).join(ELLIPSIS)
  }

  /**
   * Like `message`, for a message of others, such as a model server. A large beginning of a secret at a cut, or at the end,
   * is replaced too, also of a secret of the service.
   */
  foreignMessage(text: string): string {
    return this.message(text)
      .split(ELLIPSIS)
      .map((part) => {
        const replacer = this.createEagerReplacer()
        return replacer.push(part) + replacer.end()
      })
      .join(ELLIPSIS)
  }

  /** A part shorter than any secret reveals nothing. */
  #redactPart(part: string, rest: Continuation): string {
    return part.length < MIN_SECRET_LENGTH ? part : this.createStreamReplacer().push(part, rest)
  }

  /**
   * For a streamed text: replaces secrets and keeps credentials. Only prefixes of the owner's secrets are held. Secrets
   * of the service are replaced when complete, so that held text does not reveal their prefixes.
   */
  createStreamReplacer(): SecretReplacer {
    return new SecretReplacer(this.#index.createMatcher(this.#owner, 'own'), REDACTION_MARK)
  }

  /** For a complete text that is processed in pieces: replaces all secrets, as `text` does. */
  createTextReplacer(): SecretReplacer {
    return new SecretReplacer(this.#index.createMatcher(this.#owner), REDACTION_MARK)
  }

  /** Redacts JSON text. Returns the same text if nothing is replaced; the result is always JSON. */
  payload(json: string): string {
    if (!this.mayNeedRedaction(json)) return json
    const value: unknown = JSON.parse(json)
    const redacted = this.value(value)
    return redacted === value ? json : JSON.stringify(redacted)
  }

  /** Redacts a JSON value, including keys. Bytes stay unchanged. If keys become equal, the last counts. */
  value<T>(value: T, options: RedactionOptions = {}): T {
    if (typeof value === 'string') return this.text(value, options) as T
    return new ValueRedactor(this, this.#index.hasNumericSecrets, options).value(value, 0) as T
  }

  /** Like `value`, in steps. */
  valueSteps<T>(value: T, options: RedactionOptions = {}): Steps<T> {
    return new ValueRedactor(this, this.#index.hasNumericSecrets, options).redactSteps(value, 0) as Steps<T>
  }

  /** Like `text`, in steps. */
  textSteps(text: string, options: RedactionOptions = {}): Steps<string> {
    return redactTextSteps(this, text, options)
  }

  /** False if a text, also JSON, contains no known secret. */
  mayHoldSecret(text: string): boolean {
    return this.#index.mayHold(text, this.#owner)
  }

  /**
   * For a streamed text of others: replaces secrets, keeps credentials, and does not hold prefixes that may be guesses.
   */
  createEagerReplacer(): EagerSecretReplacer {
    return new EagerSecretReplacer(this.#index.createEagerMatcher(this.#owner), REDACTION_MARK)
  }

  /** Redacts headers by name, or a list of alternating names and values. */
  headers<T extends object>(headers: T): T {
    return this.value(headers, { names: true })
  }
}
