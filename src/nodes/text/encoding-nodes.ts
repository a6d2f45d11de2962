// text.Encode and text.Decode: encode the UTF-8 bytes of texts in an alphabet that is safe elsewhere, and decode them.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { guardTextLength } from '../shared/value-limits.ts'

type Encoding = 'base64' | 'base64url' | 'hex' | 'url'
type BinaryEncoding = Exclude<Encoding, 'url'>

/** Matches characters that percent encoding escapes (RFC 3986 §2.3, and the exceptions of `encodeURIComponent`). */
const ESCAPED = /[^A-Za-z0-9\-_.!~*'()]+/g

/** The encoded length of a text with so many bytes. */
const ENCODED_LENGTHS: Readonly<Record<Encoding, (bytes: number, text: string) => number>> = {
  base64: (bytes) => Math.ceil(bytes / 3) * 4,
  base64url: (bytes) => Math.ceil((bytes * 4) / 3),
  hex: (bytes) => bytes * 2,
  url(bytes, text) {
    const kept = text.replaceAll(ESCAPED, '').length
    return kept + 3 * (bytes - kept)
  },
}

function encode(text: string, as: Encoding): string {
  guardTextLength(ENCODED_LENGTHS[as](Buffer.byteLength(text), text))
  return as === 'url' ? encodeURIComponent(text.toWellFormed()) : Buffer.from(text).toString(as)
}

/** The alphabets, apart from white space. Padding is optional. */
const ALPHABETS: Readonly<Record<BinaryEncoding, RegExp>> = {
  base64: /^[A-Za-z0-9+/]*={0,2}$/,
  base64url: /^[A-Za-z0-9_-]*={0,2}$/,
  hex: /^[0-9A-Fa-f]*$/,
}

function encodingError(from: Encoding, why: string): NodeError {
  return new NodeError(`The text is not valid ${from}: ${why}.`, 'bad_encoding')
}

function isComplete(text: string, from: BinaryEncoding): boolean {
  const digits = text.replace(/=+$/, '').length
  if (from === 'hex') return digits % 2 === 0
  return digits % 4 !== 1 && (digits === text.length || text.length % 4 === 0)
}

function decodeBytes(text: string, from: BinaryEncoding): Buffer {
  const packed = text.replaceAll(/\s+/g, '')
  if (!ALPHABETS[from].test(packed)) throw encodingError(from, 'it has a character outside of its alphabet')
  if (!isComplete(packed, from)) throw encodingError(from, 'it is cut off')
  return Buffer.from(packed, from)
}

function decode(text: string, from: Encoding): string {
  if (from === 'url') {
    try {
      return decodeURIComponent(text)
    } catch {
      throw encodingError(from, 'a percent sign is not followed by two hexadecimal digits of a UTF-8 text')
    }
  }
  const bytes = decodeBytes(text, from)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw encodingError(from, 'its bytes are not UTF-8')
  }
}

const ENCODINGS = createEnumType(...(Object.keys(ENCODED_LENGTHS) as Encoding[]))

export const encodeNodes: NodeType[] = [
  {
    node_type: 'text.Encode',
    title: 'Encode text',
    description: 'Writes a text in Base64 (RFC 4648), in hexadecimal digits, or percent-encoded for a URL.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('as', ENCODINGS, 'The encoding.', { default: 'base64' }),
    ],
    cost: 2,
    outputs: [valueOutput('output', 'str')],
    run: ({ text, as }: { text: string; as: Encoding }) => ({ output: encode(text, as) }),
  },
  {
    node_type: 'text.Decode',
    title: 'Decode text',
    description:
      'Decodes a text from Base64, hexadecimal digits or percent encoding. In Base64 and hexadecimal digits, white space is ignored.',
    properties: [
      requiredProperty('text', 'str', 'The encoded text.'),
      optionalProperty('from', ENCODINGS, 'The encoding.', { default: 'base64' }),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'str')],
    run: ({ text, from }: { text: string; from: Encoding }) => ({ output: decode(text, from) }),
  },
]
