// JSON text of large values, made in steps: small parts are left to `JSON.stringify`, large parts are taken apart.
import { stringifyWithBase64 } from './json.ts'
import { runToCompletion, type Steps, type TimeSliceScheduler } from './time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from './value-size.ts'

/** The number of characters of a text that are hashed or written at once. */
export const LONG_TEXT_LENGTH = 262_144
/** The number of bytes that are written at once. */
const BYTES = 4_096

/** JSON texts of large immutable values, as `stringifyWithBase64` writes them (bytes as base64), for as long as the values live. */
const base64JsonTexts = new WeakMap<object, string>()
/** The same for values without bytes, whose text equals that of `JSON.stringify`. */
const plainJsonTexts = new WeakMap<object, string>()

/** Makes the JSON text of an immutable value, for `cachedJsonText` and for writers of values that contain it. */
export function* cacheJsonTextSteps(value: unknown): Steps<void> {
  if (isContainer(value) && !isSmallValue(value) && cachedJsonText(value) === undefined)
    base64JsonTexts.set(value, yield* stringifyWithBase64Steps(value))
}

/** Keeps the known JSON text of a large immutable value without bytes. */
export function cacheJsonText(value: object, text: string): void {
  plainJsonTexts.set(value, text)
}

/** The JSON text of a large value as `stringifyWithBase64` writes it, if it was made before. */
export function cachedJsonText(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null
    ? (plainJsonTexts.get(value) ?? base64JsonTexts.get(value))
    : undefined
}

/** As `stringifyWithBase64`, for a record that contains, up to two levels deep, large values with a cached text. */
export function stringifyWithCachedMembers(value: object, levels = 2): string {
  if (levels === 0 || Array.isArray(value) || value instanceof Uint8Array) return stringifyWithBase64(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  const written = members.map(([key, member]) => {
    const isRecord = typeof member === 'object' && member !== null
    const text = isRecord
      ? (cachedJsonText(member) ?? stringifyWithCachedMembers(member, levels - 1))
      : JSON.stringify(member)
    return `${JSON.stringify(key)}:${text}`
  })
  return `{${written.join(',')}}`
}

/** Writes a JSON value as `JSON.stringify` does, in parts. */
function* writeJson(value: unknown, write: (part: string) => void, leaf: (light: unknown) => string): Steps<void> {
  if (typeof value === 'string' && value.length > LONG_TEXT_LENGTH) return yield* writeJsonString(value, write)
  if (isPlainBytes(value) && leaf !== stringifyWithBase64 && !isSmallValue(value))
    return yield* writeBytes(value, write)
  if (!isContainer(value) || isSmallValue(value)) {
    write(leaf(value))
    yield
    return
  }
  const known = leaf === stringifyWithBase64 ? cachedJsonText(value) : plainJsonTexts.get(value)
  if (known !== undefined) return write(known)
  if (Buffer.isBuffer(value))
    return leaf === stringifyWithBase64 ? write(leaf(value)) : yield* writeBuffer(value, write)
  // Listing the keys of a large object takes as long as checking its size.
  yield
  const isList = Array.isArray(value)
  write(isList ? '[' : '{')
  yield* writeMembers({ of: value, keys: isList ? null : definedKeys(value) }, write, leaf)
  write(isList ? ']' : '}')
}

type Container = unknown[] | Record<string, unknown>

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !isPlainBytes(value)
}

function isPlainBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && !Buffer.isBuffer(value)
}

export function definedKeys(record: Record<string, unknown>): string[] {
  return Object.keys(record).filter((key) => record[key] !== undefined)
}

interface Members {
  readonly of: Container
  /** Null: the members of a list. */
  readonly keys: readonly string[] | null
}

function* writeMembers(
  { of, keys }: Members,
  write: (part: string) => void,
  leaf: (light: unknown) => string,
): Steps<void> {
  const count = keys ? keys.length : (of as unknown[]).length
  for (const { from, to, isSmall } of splitIntoSmallRanges(count, (at) => memberOf(of, keys, at))) {
    if (isSmall) {
      const part = keys
        ? leaf(Object.fromEntries(keys.slice(from, to).map((key) => [key, memberOf(of, null, key)])))
        : leaf((of as unknown[]).slice(from, to))
      write((from > 0 ? ',' : '') + part.slice(1, -1))
      yield
    } else {
      write((from > 0 ? ',' : '') + (keys ? `${JSON.stringify(keys[from])}:` : ''))
      yield* writeJson(memberOf(of, keys, from), write, leaf)
    }
  }
}

function memberOf(of: Container, keys: readonly string[] | null, at: number | string): unknown {
  return (of as Record<string, unknown>)[keys ? keys[at as number]! : at]
}

/** Writes a long text as `JSON.stringify` does, in parts. */
export function* writeJsonString(text: string, write: (part: string) => void): Steps<void> {
  write('"')
  for (let at = 0; at < text.length; ) {
    const to = textChunkEnd(text, at)
    write(JSON.stringify(text.slice(at, to)).slice(1, -1))
    at = to
    yield
  }
  write('"')
}

/** The end of a piece; a surrogate pair stays whole. */
export function textChunkEnd(text: string, at: number): number {
  const high = text.charCodeAt(at + LONG_TEXT_LENGTH - 1)
  return at + LONG_TEXT_LENGTH - (high >= 0xd800 && high < 0xdc00 ? 1 : 0)
}

/** Writes bytes that are no Buffer as `JSON.stringify` does. */
function* writeBytes(bytes: Uint8Array, write: (part: string) => void): Steps<void> {
  write('{')
  for (let from = 0; from < bytes.length; from += BYTES) {
    const members = Array.from(bytes.subarray(from, from + BYTES), (byte, at) => `"${from + at}":${byte}`)
    write((from > 0 ? ',' : '') + members.join(','))
    yield
  }
  write('}')
}

/** Writes a Buffer as `JSON.stringify` does. */
function* writeBuffer(bytes: Buffer, write: (part: string) => void): Steps<void> {
  write('{"type":"Buffer","data":[')
  for (let at = 0; at < bytes.length; at += BYTES) {
    write((at > 0 ? ',' : '') + bytes.subarray(at, at + BYTES).join(','))
    yield
  }
  write(']}')
}

/** The text of `JSON.stringify`; that of a large value is made in time slices of its owner. */
export function stringifyInSlices(
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: string,
  value: object | string,
): string | Promise<string> {
  return isSmallValue(value) ? JSON.stringify(value) : slices.run(owner, stringifySteps(value))
}

/** `JSON.stringify` in steps. */
export function* stringifySteps(value: unknown): Steps<string> {
  const parts: string[] = []
  yield* writeJson(value, (part) => parts.push(part), JSON.stringify)
  return parts.join('')
}

/**
 * `JSON.stringify` in parts: each call returns the steps of the next part. A part has at least `length` characters unless it is the last. Parts after
 * the last are empty.
 */
export function stringifyParts(value: unknown, length: number): () => Steps<string> {
  let parts: string[] = []
  let written = 0
  const write = (part: string) => {
    parts.push(part)
    written += part.length
  }
  const steps = writeJson(value, write, JSON.stringify)
  return function* part() {
    while (written < length && !steps.next().done) yield
    const text = parts.join('')
    parts = []
    written = 0
    return text
  }
}

/** The JSON text of a value; null: it has more than `most_bytes` bytes. Little beyond that limit is read. */
export function stringifyUpTo(value: unknown, most_bytes: number): string | null {
  const text = runToCompletion(stringifyParts(value, most_bytes + 1)())
  return Buffer.byteLength(text) > most_bytes ? null : text
}

/** The JSON text of a long text, which `cacheJsonText` does not keep; null: the value is not a long text. */
export function* stringifyLongTextSteps(value: unknown): Steps<string | null> {
  return typeof value === 'string' && value.length > LONG_TEXT_LENGTH ? yield* stringifyWithBase64Steps(value) : null
}

/** `stringifyWithBase64` in steps. */
export function* stringifyWithBase64Steps(value: unknown): Steps<string> {
  const parts: string[] = []
  yield* writeJson(value, (part) => parts.push(part), stringifyWithBase64)
  return parts.join('')
}
