// Counts how many more bytes than characters the texts of a value have in UTF-8. It is counted when a value is sent, not when it is
// measured: every value is measured, and few are sent.

import type { Steps } from '../../../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../../shared/value-size.ts'

/** Longer texts are counted by `Buffer.byteLength`. */
const SHORT_TEXT = 32

/** Cached results of large containers. */
const countedContainers = new WeakMap<object, number>()

/** Shared parts count each time. */
export function countExtraUtf8Bytes(value: unknown): number {
  if (typeof value === 'string') return countExtraUtf8BytesOfText(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0
  const known = countedContainers.get(value)
  if (known !== undefined) return known
  let extra = 0
  if (Array.isArray(value)) for (const item of value) extra += countExtraUtf8Bytes(item)
  else
    for (const [key, member] of Object.entries(value))
      extra += countExtraUtf8BytesOfText(key) + countExtraUtf8Bytes(member)
  return extra
}

/** Whether `countExtraUtf8Bytes` takes long. False if the result is cached. */
export function needsUtf8Steps(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return !countedContainers.has(value) && !isSmallValue(value)
}

/** Afterwards `countExtraUtf8Bytes` returns the cached result. */
export function* countExtraUtf8Steps(container: object): Steps<void> {
  const members = container as Readonly<Record<string | number, unknown>>
  const keys = Array.isArray(container) ? null : Object.keys(container)
  const count = keys?.length ?? (container as unknown[]).length
  let extra = 0
  for (const { from, to, isSmall } of splitIntoSmallRanges(count, (at) => members[keys ? keys[at]! : at])) {
    for (let at = from; at < to; at++) {
      const member = members[keys ? keys[at]! : at]
      if (keys) extra += countExtraUtf8BytesOfText(keys[at]!)
      if (!isSmall && needsUtf8Steps(member)) yield* countExtraUtf8Steps(member)
      extra += countExtraUtf8Bytes(member)
    }
    yield
  }
  countedContainers.set(container, extra)
}

function countExtraUtf8BytesOfText(text: string): number {
  if (text.length > SHORT_TEXT) return Buffer.byteLength(text) - text.length
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return Buffer.byteLength(text) - text.length
  return 0
}
