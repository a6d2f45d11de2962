// Creates the request body for a server that speaks OpenAI's protocol: the client's bytes with the provider's model
// name. Streams also request the usage, except from servers that do not support the option.
import { applyEdits, findMembers, type JsonMember, type TextEdit } from '../json/text-ranges.ts'

export interface UpstreamBodyOptions {
  /** The model's name at its provider. */
  readonly model: string
  readonly include_usage: boolean
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** A byte order mark is not part of JSON (RFC 8259, section 8.1). */
export function stripByteOrderMark(bytes: Uint8Array): Uint8Array {
  return BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
}

/** `raw` is JSON text in UTF-8: an object that was validated. */
export function createUpstreamBody(raw: Uint8Array, { model, include_usage }: UpstreamBodyOptions): Uint8Array {
  const { bytes, text, members } = parseBody(raw)
  const name = JSON.stringify(model)
  // Edits every duplicate: the last counts here, but another server may use the first.
  const edits = members.flatMap((member): TextEdit[] => {
    if (member.key === 'model') return [{ ...member, text: name }]
    return member.key === 'stream_options' && include_usage ? editStreamOptions(text, member) : []
  })
  if (include_usage && !members.some(({ key }) => key === 'stream_options')) {
    const { end } = members.at(-1)!
    edits.push({ start: end, end, text: `,"stream_options":${STREAM_OPTIONS}` })
  }
  return applyEdits(bytes, edits)
}

/**
 * Creates the body without `stream_options`. Returns null if the client set other options: then the client is told that
 * the server refuses them.
 */
export function createBodyWithoutStreamOptions(raw: Uint8Array, model: string): Uint8Array | null {
  const { bytes, text, members } = parseBody(raw)
  const isUsageOption = (options: JsonMember) =>
    (findMembers(text, options.start) ?? []).every(({ key }) => key === 'include_usage')
  if (!members.every((member) => member.key !== 'stream_options' || isUsageOption(member))) return null
  const first = members.findIndex(({ key }) => key !== 'stream_options')
  const edits = members.slice(first).flatMap((member, at): TextEdit[] => {
    if (member.key === 'model') return [{ ...member, text: JSON.stringify(model) }]
    // Removes the comma before the member.
    return member.key === 'stream_options' ? [{ start: members[first + at - 1]!.end, end: member.end, text: '' }] : []
  })
  // Removes the comma after the leading members.
  if (first > 0)
    edits.unshift({ start: text.indexOf('{') + 1, end: text.indexOf(',', members[first - 1]!.end) + 1, text: '' })
  return applyEdits(bytes, edits)
}

interface ParsedBody {
  readonly bytes: Uint8Array
  /** One character for each byte (latin1). */
  readonly text: string
  readonly members: readonly JsonMember[]
}

function parseBody(raw: Uint8Array): ParsedBody {
  const bytes = stripByteOrderMark(raw)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const members = findMembers(text)
  if (!members) throw new Error('a parsed body must be an object')
  return { bytes, text, members }
}

const STREAM_OPTIONS = '{"include_usage":true}'

function editStreamOptions(text: string, { start, end }: JsonMember): TextEdit[] {
  const options = findMembers(text, start)
  const last = options?.at(-1)
  if (!options || !last) return [{ start, end, text: STREAM_OPTIONS }]
  const flags = options.filter(({ key }) => key === 'include_usage')
  if (flags.length > 0) return flags.map((flag) => ({ ...flag, text: 'true' }))
  return [{ start: last.end, end: last.end, text: ',"include_usage":true' }]
}
