// Requests as they go on to a server that speaks OpenAI's protocol: the bytes of the client, with the model's name there in the place of its own,
// and with the wish for usage where a stream would not tell it otherwise; or without that, for servers that do not know it.
import { applyEdits, findMembers, type JsonMember, type TextEdit } from '../json/text-ranges.ts'

export interface UpstreamBodyOptions {
  /** The model's name at its provider. */
  readonly model: string
  readonly include_usage: boolean
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** The mark of a byte order is no JSON (RFC 8259, section 8.1). */
export function stripByteOrderMark(bytes: Uint8Array): Uint8Array {
  return BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
}

/** `raw` is JSON text in UTF-8, an object that was validated. */
export function createUpstreamBody(raw: Uint8Array, { model, include_usage }: UpstreamBodyOptions): Uint8Array {
  const { bytes, text, members } = parseBody(raw)
  const name = JSON.stringify(model)
  // Of members that come twice the last one counts here, and elsewhere perhaps the first.
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
 * The same without `stream_options`, at whose place nothing is left. Null where they hold more than the wish for usage: who asks for something else is
 * told that it is refused.
 */
export function createBodyWithoutStreamOptions(raw: Uint8Array, model: string): Uint8Array | null {
  const { bytes, text, members } = parseBody(raw)
  const isUsageOption = (options: JsonMember) =>
    (findMembers(text, options.start) ?? []).every(({ key }) => key === 'include_usage')
  if (!members.every((member) => member.key !== 'stream_options' || isUsageOption(member))) return null
  const first = members.findIndex(({ key }) => key !== 'stream_options')
  const edits = members.slice(first).flatMap((member, at): TextEdit[] => {
    if (member.key === 'model') return [{ ...member, text: JSON.stringify(model) }]
    // With the comma before it.
    return member.key === 'stream_options' ? [{ start: members[first + at - 1]!.end, end: member.end, text: '' }] : []
  })
  // With the comma behind them.
  if (first > 0)
    edits.unshift({ start: text.indexOf('{') + 1, end: text.indexOf(',', members[first - 1]!.end) + 1, text: '' })
  return applyEdits(bytes, edits)
}

interface ParsedBody {
  readonly bytes: Uint8Array
  /** With one character for each byte. */
  readonly text: string
  readonly members: readonly JsonMember[]
}

function parseBody(raw: Uint8Array): ParsedBody {
  const bytes = stripByteOrderMark(raw)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const members = findMembers(text)
  if (!members) throw new Error('a body that was parsed is no object')
  return { bytes, text, members }
}

const STREAM_OPTIONS = '{"include_usage":true}'

function editStreamOptions(text: string, { start, end }: JsonMember): TextEdit[] {
  const options = findMembers(text, start)
  const last = options?.at(-1)
  if (!options || !last) return [{ start, end, text: STREAM_OPTIONS }]
  const wishes = options.filter(({ key }) => key === 'include_usage')
  if (wishes.length > 0) return wishes.map((wish) => ({ ...wish, text: 'true' }))
  return [{ start: last.end, end: last.end, text: ',"include_usage":true' }]
}
