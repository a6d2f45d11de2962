// Requests that go on to a server mean there what they mean here. Parsers differ in which of two members of one name they take, and some
// (`encoding/json` of Go) take a name in other letters for the same: what was judged here could be another model there, or another address.
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { ServiceError } from '../../errors.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import { runToCompletion, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { JsonRecord } from '../json/values.ts'
import { stripByteOrderMark } from './upstream-body.ts'

export interface ForwardedRequest {
  readonly owner: OwnerScope
  readonly body: object
  /** The text that the body was read from, in UTF-8; null where it was made here, or came in another encoding. */
  readonly raw: Uint8Array | null
}

/** Up to so many bytes a text is looked at at once, and so many in each step. */
const BYTES_PER_STEP = 65_536
/** So many values are looked at in each step. */
const VALUES_PER_STEP = 256
/** None of our names has any of these. */
const UNUSED_CHARACTERS = /[^a-z0-9_]/

/**
 * The text to pass on: that of the client, or one of the body that was read from it where a member comes twice.
 * @throws INVALID_REQUEST with the first name that is another one in other letters
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

/** How many members all objects of a JSON text have together: each has one colon outside of texts. */
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

/** The same of a value. */
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

/** Of the request itself, and of all that its messages hold: schemas of tools may have any names. */
function* refuseCaseVariantsSteps(body: JsonRecord): Steps<void> {
  const pace = new StepCounter()
  for (const name of Object.keys(body)) {
    if (isCaseVariant(body, name)) throw createCaseVariantError(name)
    if (pace.isStepOver) yield
  }
  const found = yield* findCaseVariantSteps(body.messages, pace)
  if (found !== null) throw createCaseVariantError(`messages/${found}`)
}

/** The path of a name in a value that is another one beside it in other letters. */
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

/** Tells after how many looks a step is over, in however many objects they are. */
class StepCounter {
  #looked = 0

  get isStepOver(): boolean {
    return ++this.#looked % VALUES_PER_STEP === 0
  }
}

function isCaseVariant(record: JsonRecord, name: string): boolean {
  if (!UNUSED_CHARACTERS.test(name)) return false
  const folded = name.toUpperCase().toLowerCase()
  return folded !== name && Object.hasOwn(record, folded)
}

function createCaseVariantError(place: string): ServiceError {
  const path = `/body/${place}`
  const message = 'is another member in other letters, for which some servers take it: leave it out'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}
