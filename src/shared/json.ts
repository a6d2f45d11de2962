// JSON as the service writes it, where bytes are base64, and in one canonical form: equal values have equal text and equal hashes, others others.

/** JSON text; bytes become base64. */
export function stringifyWithBase64(value: unknown): string {
  // A replacer makes it take more than twice as long; looking first costs next to nothing.
  return containsBytes(value) ? JSON.stringify(value, bytesAsBase64) : JSON.stringify(value)
}

/** The JSON text of a record, which has members and no bytes, with one member more whose text is known. */
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

// `this[key]` is the value before a Buffer's own toJSON has turned it into a list of numbers.
function bytesAsBase64(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const bytes = this[key]
  return bytes instanceof Uint8Array ? toBase64(bytes) : value
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/**
 * JSON text with sorted keys and no white space; properties that are undefined are left out (as RFC 8785, but for the spelling of numbers). Bytes
 * and numbers that JSON has not are written as no JSON is, so that they are nothing else.
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

/** How many levels of arrays and objects a request or a frame may have. What walks a value recursively relies on it. */
export const MAX_JSON_DEPTH = 64

/** Whether a value has more than `levels` levels of arrays and objects. Bytes count as a scalar. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}

/** In characters, of all calls of tools that a model makes at once: they are read in one go. Honest answers are hardly as long as a whole. */
const MAX_TOOL_ARGUMENTS_LENGTH = 500_000

/** What is said of calls beyond. Written when it is needed: the first number of a language takes long to write. */
export const toolArgumentsTooLongMessage = () =>
  `At most ${MAX_TOOL_ARGUMENTS_LENGTH.toLocaleString('en')} characters of arguments are read in one turn.`

/** How many of the calls, from the first on, have room for their arguments. */
export function countFittingToolCalls(args: readonly string[]): number {
  let left = MAX_TOOL_ARGUMENTS_LENGTH
  const beyond = args.findIndex((text) => {
    left -= text.length
    return left < 0
  })
  return beyond < 0 ? args.length : beyond
}
