// Ensures that a request means the same to the model server as here. Parsers differ on duplicate members, and some
// (`encoding/json` of Go) ignore the case of names. Otherwise the server could use a model or a URL that was not
// checked here.
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { ServiceError } from '../../errors.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import { runToCompletion, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { JsonRecord } from '../json/values.ts'
import { stripByteOrderMark } from './upstream-body.ts'

export interface ForwardedRequest {
  readonly owner: OwnerScope
  readonly body: object
  /** The UTF-8 text of the body; null if the body was made here or came in another encoding. */
  readonly raw: Uint8Array | null
}

/** The largest text that is scanned at once, and the size of a step for longer texts. */
const BYTES_PER_STEP = 65_536
/** Values per step. */
const VALUES_PER_STEP = 256
/** No name of the contract has these characters. */
const UNUSED_CHARACTERS = /[^a-z0-9_]/

/**
 * Returns the client's text, or a new encoding of the body if a member occurs twice.
 * @throws INVALID_REQUEST with the first name that differs from another only in case
 */
export async function encodeUnambiguousBody(
  request: ForwardedRequest,
  slices: Pick<TimeSliceScheduler, 'run'>,
): Promise<Uint8Array> {
  const { owner, raw } = request
  const steps = encodeBodySteps(request)
  return raw && raw.length <= BYTES_PER_STEP ? runToCompletion(steps) : await slices.run(userShareKey(owner), steps)
}

function* encodeBodySteps({ body, raw }: ForwardedRequest): Steps<Uint8Array> {
  yield* refuseCaseVariantsSteps(body as JsonRecord)
  const isOnce =
    raw !== null && (yield* countTextMembersSteps(stripByteOrderMark(raw))) === (yield* countValueMembersSteps(body))
  return isOnce ? raw : Buffer.from(yield* stringifySteps(body))
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** Counts the members of all objects in a JSON text: each has one colon outside of strings. */
function* countTextMembersSteps(text: Uint8Array): Steps<number> {
  let count = 0
  for (let at = 0, pause = BYTES_PER_STEP; at < text.length; at++) {
    const byte = text[at]
    if (byte === COLON) count++
    else if (byte === QUOTE) at = findClosingQuote(text, at)
    if (at < pause) continue
    pause = at + BYTES_PER_STEP
    yield
  }
  return count
}

function findClosingQuote(text: Uint8Array, from: number): number {
  let quote = text.indexOf(QUOTE, from + 1)
  while (quote > 0 && isEscaped(text, quote)) quote = text.indexOf(QUOTE, quote + 1)
  return quote < 0 ? text.length : quote
}

function isEscaped(text: Uint8Array, at: number): boolean {
  let before = at
  while (text[before - 1] === BACKSLASH) before--
  return (at - before) % 2 === 1
}

/** Counts the members of all objects in a value. */
function* countValueMembersSteps(value: object): Steps<number> {
  const left: object[] = [value]
  const pace = new StepCounter()
  let count = 0
  for (let next = left.pop(); next; next = left.pop()) {
    const values: unknown[] = Array.isArray(next) ? next : Object.values(next)
    if (values !== next) count += values.length
    for (const one of values) {
      if (typeof one === 'object' && one !== null) left.push(one)
      if (pace.isStepOver) yield
    }
  }
  return count
}

/** Checks the request and its messages; schemas of tools may have any names. */
function* refuseCaseVariantsSteps(body: JsonRecord): Steps<void> {
  const pace = new StepCounter()
  for (const name of Object.keys(body)) {
    if (isCaseVariant(body, name)) throw createCaseVariantError(name)
    if (pace.isStepOver) yield
  }
  const found = yield* findCaseVariantSteps(body.messages, pace)
  if (found !== null) throw createCaseVariantError(`messages/${found}`)
}

/** The path of the first name that differs from another name of the same object only in case. */
function* findCaseVariantSteps(value: unknown, pace: StepCounter): Steps<string | null> {
  if (typeof value !== 'object' || value === null) return null
  const isList = Array.isArray(value)
  for (const key of Object.keys(value)) {
    if (!isList && isCaseVariant(value as JsonRecord, key)) return key
    const one = (value as JsonRecord)[key]
    if (typeof one === 'object' && one !== null) {
      const found = yield* findCaseVariantSteps(one, pace)
      if (found !== null) return `${key}/${found}`
    }
    if (pace.isStepOver) yield
  }
  return null
}

/** Counts values across objects, and tells when a step is over. */
class StepCounter {
  #count = 0

  get isStepOver(): boolean {
    return ++this.#count % VALUES_PER_STEP === 0
  }
}

function isCaseVariant(record: JsonRecord, name: string): boolean {
  if (!UNUSED_CHARACTERS.test(name)) return false
  const folded = name.toUpperCase().toLowerCase()
  return folded !== name && Object.hasOwn(record, folded)
}

function createCaseVariantError(place: string): ServiceError {
  const path = `/body/${place}`
  const message = 'differs from another member only in case, and some servers confuse them; leave it out'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}
