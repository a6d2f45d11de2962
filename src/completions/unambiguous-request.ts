// Requests that go on to a server mean there what they mean here. Parsers differ in which of two members of one name they take, and some
// (`encoding/json` of Go) take a name in other letters for the same: what was judged here could be another model there, or another address.
import { type Scope, userKey } from '../db/scope.ts'
import { ServiceError } from '../errors.ts'
import { jsonTextSteps } from '../json-steps.ts'
import { finish, type Steps, type TimeSlices } from '../time-slices.ts'
import { withoutMark } from './forwarding.ts'
import type { Json } from './json-values.ts'

export interface ForwardedRequest {
  readonly owner: Scope
  readonly body: object
  /** The text that the body was read from, in UTF-8; null where it was made here, or came in another encoding. */
  readonly raw: Uint8Array | null
}

/** Up to so many bytes a text is looked at at once, and so many in each step. */
const AT_ONCE = 65_536
/** So many values are looked at in each step. */
const SOME = 256
/** None of our names has any of these. */
const OTHER_LETTERS = /[^a-z0-9_]/

/**
 * The text to pass on: that of the client, or one of the body that was read from it where a member comes twice.
 * @throws INVALID_REQUEST with the first name that is another one in other letters
 */
export async function unambiguousText(request: ForwardedRequest, slices: Pick<TimeSlices, 'run'>): Promise<Uint8Array> {
  const { owner, raw } = request
  const steps = textSteps(request)
  return raw && raw.length <= AT_ONCE ? finish(steps) : await slices.run(userKey(owner), steps)
}

function* textSteps({ body, raw }: ForwardedRequest): Steps<Uint8Array> {
  yield* refuseOtherLetters(body as Json)
  const isOnce = raw !== null && (yield* membersIn(withoutMark(raw))) === (yield* membersOf(body))
  return isOnce ? raw : Buffer.from(yield* jsonTextSteps(body))
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** How many members all objects of a JSON text have together: each has one colon outside of texts. */
function* membersIn(text: Uint8Array): Steps<number> {
  let count = 0
  for (let at = 0, pause = AT_ONCE; at < text.length; at++) {
    const byte = text[at]
    if (byte === COLON) count++
    else if (byte === QUOTE) at = closingQuote(text, at)
    if (at < pause) continue
    pause = at + AT_ONCE
    yield
  }
  return count
}

function closingQuote(text: Uint8Array, from: number): number {
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
function* membersOf(value: object): Steps<number> {
  const left: object[] = [value]
  const pace = new Pace()
  let count = 0
  for (let next = left.pop(); next; next = left.pop()) {
    const values: unknown[] = Array.isArray(next) ? next : Object.values(next)
    if (values !== next) count += values.length
    for (const one of values) {
      if (typeof one === 'object' && one !== null) left.push(one)
      if (pace.isOver) yield
    }
  }
  return count
}

/** Of the request itself, and of all that its messages hold: schemas of tools may have any names. */
function* refuseOtherLetters(body: Json): Steps<void> {
  const pace = new Pace()
  for (const name of Object.keys(body)) {
    if (isOtherLetters(body, name)) throw refused(name)
    if (pace.isOver) yield
  }
  const found = yield* otherLettersIn(body.messages, pace)
  if (found !== null) throw refused(`messages/${found}`)
}

/** The path of a name in a value that is another one beside it in other letters. */
function* otherLettersIn(value: unknown, pace: Pace): Steps<string | null> {
  if (typeof value !== 'object' || value === null) return null
  const isList = Array.isArray(value)
  for (const key of Object.keys(value)) {
    if (!isList && isOtherLetters(value as Json, key)) return key
    const one = (value as Json)[key]
    if (typeof one === 'object' && one !== null) {
      const found = yield* otherLettersIn(one, pace)
      if (found !== null) return `${key}/${found}`
    }
    if (pace.isOver) yield
  }
  return null
}

/** Tells after how many looks a step is over, in however many objects they are. */
class Pace {
  #looked = 0

  get isOver(): boolean {
    return ++this.#looked % SOME === 0
  }
}

function isOtherLetters(record: Json, name: string): boolean {
  if (!OTHER_LETTERS.test(name)) return false
  const folded = name.toUpperCase().toLowerCase()
  return folded !== name && Object.hasOwn(record, folded)
}

function refused(place: string): ServiceError {
  const path = `/body/${place}`
  const message = 'is another member in other letters, for which some servers take it: leave it out'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}
