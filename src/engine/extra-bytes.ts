// How many bytes more than characters the texts in a value have in UTF-8. That is counted where a value is handed out, and not where it is measured:
// every value is measured, and few are handed out.
import { isLight, lightParts } from '../light-parts.ts'
import type { Steps } from '../time-slices.ts'

/** Of a longer text the engine itself counts the bytes. */
const SHORT_TEXT = 32

/** Of large containers. */
const counted = new WeakMap<object, number>()

/** What is shared counts each time. */
export function extraBytesOf(value: unknown): number {
  if (typeof value === 'string') return extraBytesOfText(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0
  const known = counted.get(value)
  if (known !== undefined) return known
  let extra = 0
  if (Array.isArray(value)) for (const item of value) extra += extraBytesOf(item)
  else for (const [key, member] of Object.entries(value)) extra += extraBytesOfText(key) + extraBytesOf(member)
  return extra
}

/** Whether `extraBytesOf` takes long. Not where it was found out before. */
export function takesExtraSteps(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return !counted.has(value) && !isLight(value)
}

/** From then on `extraBytesOf` knows them. */
export function* extraBytesSteps(container: object): Steps<void> {
  const members = container as Readonly<Record<string | number, unknown>>
  const keys = Array.isArray(container) ? null : Object.keys(container)
  const count = keys?.length ?? (container as unknown[]).length
  let extra = 0
  for (const { from, to, light } of lightParts(count, (at) => members[keys ? keys[at]! : at])) {
    for (let at = from; at < to; at++) {
      const member = members[keys ? keys[at]! : at]
      if (keys) extra += extraBytesOfText(keys[at]!)
      if (!light && takesExtraSteps(member)) yield* extraBytesSteps(member)
      extra += extraBytesOf(member)
    }
    yield
  }
  counted.set(container, extra)
}

function extraBytesOfText(text: string): number {
  if (text.length > SHORT_TEXT) return Buffer.byteLength(text) - text.length
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return Buffer.byteLength(text) - text.length
  return 0
}
