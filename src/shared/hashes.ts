// SHA-256 of texts and of values, at once or in steps.
import { createHash } from 'node:crypto'
import { definedKeys, LONG_TEXT_LENGTH, textChunkEnd, writeJsonString } from './incremental-json.ts'
import { canonicalJson } from './json.ts'
import { compareTexts, sortSteps } from './sorting.ts'
import type { Steps } from './time-slices.ts'
import { isSmallValue } from './value-size.ts'

/** SHA-256 of a text as 64 lower-case hexadecimal characters. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Writes the `canonicalJson` of a value in parts. */
function* writeCanonicalJson(value: unknown, write: (part: string) => void): Steps<void> {
  if (typeof value === 'string' && value.length > LONG_TEXT_LENGTH) return yield* writeJsonString(value, write)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || isSmallValue(value)) {
    write(canonicalJson(value))
    yield
    return
  }
  if (Array.isArray(value)) {
    write('[')
    for (let at = 0; at < value.length; at++) {
      if (at > 0) write(',')
      yield* writeCanonicalJson(value[at], write)
    }
    return write(']')
  }
  const record = value as Record<string, unknown>
  const keys = yield* sortSteps(definedKeys(record), compareTexts)
  write('{')
  for (let at = 0; at < keys.length; at++) {
    write(`${at > 0 ? ',' : ''}${JSON.stringify(keys[at])}:`)
    yield* writeCanonicalJson(record[keys[at]!], write)
  }
  write('}')
}

/** `sha256(canonicalJson(value))` in steps. */
export function* canonicalHashSteps(value: unknown): Steps<string> {
  const hash = createHash('sha256')
  let waiting = ''
  yield* writeCanonicalJson(value, (part) => {
    waiting += part
    if (waiting.length < LONG_TEXT_LENGTH) return
    hash.update(waiting)
    waiting = ''
  })
  return hash.update(waiting).digest('hex')
}

/** `sha256` of a text in steps. */
export function* textHashSteps(text: string): Steps<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < text.length; ) {
    const to = textChunkEnd(text, at)
    hash.update(text.slice(at, to))
    at = to
    yield
  }
  return hash.digest('hex')
}
