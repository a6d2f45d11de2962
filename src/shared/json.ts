// JSON as the service writes it, with bytes as base64, and canonical JSON: equal values have equal text and hashes, different values different ones.

/** JSON text; bytes become base64. */
export function stringifyWithBase64(value: unknown): string {
  // A replacer more than doubles the time; looking for bytes first costs next to nothing.
  return containsBytes(value) ? JSON.stringify(value, bytesAsBase64) : JSON.stringify(value)
}

/** The JSON text of a non-empty record without bytes, with an additional member whose text is known. */
export function appendJsonMember(record: object, name: string, text: string): string {
  return `${JSON.stringify(record).slice(0, -1)},"${name}":${text}}`
}

function containsBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(containsBytes)
  if (value instanceof Uint8Array) return true
  for (const key in value) if (containsBytes((value as Record<string, unknown>)[key])) return true
  return false
}

// `this[key]` is the value before a Buffer's own toJSON turns it into a list of numbers.
function bytesAsBase64(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const bytes = this[key]
  return bytes instanceof Uint8Array ? toBase64(bytes) : value
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/**
 * JSON text with sorted keys and no white space, without undefined properties (RFC 8785, except for the spelling of numbers). Bytes, NaN and
 * infinities are written as text that is not JSON, so that they equal no other value.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (value instanceof Uint8Array) return `bytes(${toBase64(value)})`
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const record = value as Record<string, unknown>
  const members = Object.keys(record)
    .sort()
    .filter((key) => record[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`)
  return `{${members.join(',')}}`
}

/** The maximum depth of arrays and objects in a request or a frame. Recursive functions rely on it. */
export const MAX_JSON_DEPTH = 64

/** Whether a value has more than `levels` levels of arrays and objects. Bytes count as a scalar. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}

/**
 * Characters of the arguments of all tool calls that a model makes in one turn: they are read at once. Genuine arguments rarely reach this in total.
 */
const MAX_TOOL_ARGUMENTS_LENGTH = 500_000

/** The message for calls beyond the limit. A function, because formatting the first number of a locale is slow. */
export const toolArgumentsTooLongMessage = () =>
  `At most ${MAX_TOOL_ARGUMENTS_LENGTH.toLocaleString('en')} characters of arguments are read in one turn.`

/** How many of the calls, from the first on, fit into the limit with their arguments. */
export function countFittingToolCalls(args: readonly string[]): number {
  let left = MAX_TOOL_ARGUMENTS_LENGTH
  const beyond = args.findIndex((text) => {
    left -= text.length
    return left < 0
  })
  return beyond < 0 ? args.length : beyond
}
