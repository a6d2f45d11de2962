// Requests as they go on to a server that speaks OpenAI's protocol: the bytes of the client, with the model's name there in the place of its own,
// and with the wish for usage where a stream would not tell it otherwise; or without that, for servers that do not know it.
import { type Edit, edited, type Member, membersOf } from './members.ts'

export interface Forwarding {
  /** The model's name at its provider. */
  readonly model: string
  readonly include_usage: boolean
}

const MARK = [0xef, 0xbb, 0xbf]

/** The mark of a byte order is no JSON (RFC 8259, section 8.1). */
export function withoutMark(bytes: Uint8Array): Uint8Array {
  return MARK.every((byte, at) => bytes[at] === byte) ? bytes.subarray(MARK.length) : bytes
}

/** `raw` is JSON text in UTF-8, an object that was validated. */
export function forwarded(raw: Uint8Array, { model, include_usage }: Forwarding): Uint8Array {
  const { bytes, text, members } = read(raw)
  const name = JSON.stringify(model)
  // Of members that come twice the last one counts here, and elsewhere perhaps the first.
  const edits = members.flatMap((member): Edit[] => {
    if (member.key === 'model') return [{ ...member, text: name }]
    return member.key === 'stream_options' && include_usage ? wishing(text, member) : []
  })
  if (include_usage && !members.some(({ key }) => key === 'stream_options')) {
    const { end } = members.at(-1)!
    edits.push({ start: end, end, text: `,"stream_options":${WISH}` })
  }
  return edited(bytes, edits)
}

/**
 * The same without `stream_options`, at whose place nothing is left. Null where they hold more than the wish for usage: who asks for something else is
 * told that it is refused.
 */
export function withoutWish(raw: Uint8Array, model: string): Uint8Array | null {
  const { bytes, text, members } = read(raw)
  const isWish = (options: Member) => (membersOf(text, options.start) ?? []).every(({ key }) => key === 'include_usage')
  if (!members.every((member) => member.key !== 'stream_options' || isWish(member))) return null
  const first = members.findIndex(({ key }) => key !== 'stream_options')
  const edits = members.slice(first).flatMap((member, at): Edit[] => {
    if (member.key === 'model') return [{ ...member, text: JSON.stringify(model) }]
    // With the comma before it.
    return member.key === 'stream_options' ? [{ start: members[first + at - 1]!.end, end: member.end, text: '' }] : []
  })
  // With the comma behind them.
  if (first > 0)
    edits.unshift({ start: text.indexOf('{') + 1, end: text.indexOf(',', members[first - 1]!.end) + 1, text: '' })
  return edited(bytes, edits)
}

interface Read {
  readonly bytes: Uint8Array
  /** With one character for each byte. */
  readonly text: string
  readonly members: readonly Member[]
}

function read(raw: Uint8Array): Read {
  const bytes = withoutMark(raw)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const members = membersOf(text)
  if (!members) throw new Error('a body that was parsed is no object')
  return { bytes, text, members }
}

const WISH = '{"include_usage":true}'

function wishing(text: string, { start, end }: Member): Edit[] {
  const options = membersOf(text, start)
  const last = options?.at(-1)
  if (!options || !last) return [{ start, end, text: WISH }]
  const wishes = options.filter(({ key }) => key === 'include_usage')
  if (wishes.length > 0) return wishes.map((wish) => ({ ...wish, text: 'true' }))
  return [{ start: last.end, end: last.end, text: ',"include_usage":true' }]
}
