// Decodes text files and encodes texts as files.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import type { InputFile } from './file-inputs.ts'
import { optionalProperty } from './node-type-builders.ts'
import { guardTextLength, LONGEST_TEXT } from './value-limits.ts'

export type ReadEncoding = 'auto' | 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1' | 'windows-1252'
export type WriteEncoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'latin1'

export const READ_ENCODING_PROPERTY = optionalProperty(
  'encoding',
  createEnumType('auto', 'utf-8', 'utf-16le', 'utf-16be', 'latin1', 'windows-1252'),
  'The encoding of the text. auto: that of the byte order mark or the content type, else UTF-8.',
  { default: 'auto' },
)

export const WRITE_ENCODING_PROPERTY = optionalProperty(
  'encoding',
  createEnumType('utf-8', 'utf-8-bom', 'utf-16le', 'latin1'),
  'The encoding of the text. utf-8-bom and utf-16le begin with a byte order mark, by which spreadsheets recognize them.',
  { default: 'utf-8' },
)

const BYTE_ORDER_MARKS: readonly (readonly [readonly number[], ReadEncoding])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]

/** The encoding of the byte order mark, or null if there is none. */
export function detectByteOrderMark(bytes: Uint8Array): ReadEncoding | null {
  return BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1] ?? null
}

const ENCODING_NAMES: Readonly<Record<ReadEncoding, string>> = {
  auto: 'text',
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
  latin1: 'Latin-1',
  'windows-1252': 'Windows-1252',
}

/** In bytes. A longer file cannot hold a text within the limit. */
const MOST_BYTES = LONGEST_TEXT * 4

/** Charset names of content types. Other charsets have to be chosen in the node. */
const CHARSETS: Readonly<Record<string, ReadEncoding>> = {
  'utf-8': 'utf-8',
  'utf-16le': 'utf-16le',
  'utf-16be': 'utf-16be',
  'iso-8859-1': 'latin1',
  'windows-1252': 'windows-1252',
}

function readCharsetParameter(content_type: string | null): ReadEncoding | null {
  const name = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(content_type ?? '')?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(CHARSETS, name) ? CHARSETS[name]! : null
}

/** Throws NodeError `bad_file` if the bytes are invalid in the encoding, `too_large` if the text is too long. */
export function decodeTextFile({ bytes, content_type }: Omit<InputFile, 'name'>, encoding: ReadEncoding): string {
  if (bytes.length > MOST_BYTES) guardTextLength(bytes.length)
  const own =
    encoding === 'auto' ? (detectByteOrderMark(bytes) ?? readCharsetParameter(content_type) ?? 'utf-8') : encoding
  const text = own === 'latin1' ? Buffer.from(bytes).toString('latin1') : decodeStrictly(bytes, own)
  if (encoding === 'auto' && own === 'utf-8' && text.slice(0, 2).includes('\0')) throw missingByteOrderMark()
  guardTextLength(text.length)
  return text
}

/** Zero bytes are valid UTF-8, but a text with one as its first or second character is UTF-16. */
function missingByteOrderMark(): NodeError {
  return new NodeError('The file looks like UTF-16 without a byte order mark. Set its encoding.', 'bad_file')
}

function decodeStrictly(bytes: Uint8Array, encoding: ReadEncoding): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch (error) {
    throw new NodeError(`The file is not valid ${ENCODING_NAMES[encoding]}. Set its encoding.`, 'bad_file', {
      cause: error,
    })
  }
}

/** Throws NodeError `bad_input` if the encoding lacks a character. */
export function encodeTextFile(text: string, encoding: WriteEncoding): Uint8Array {
  if (encoding === 'latin1') {
    const at = text.search(/[^\0-\xff]/)
    if (at >= 0) throw new NodeError(`Latin-1 has no character ${[...text.slice(at, at + 2)][0]}.`, 'bad_input')
  }
  if (encoding === 'utf-8') return new TextEncoder().encode(text)
  if (encoding === 'utf-8-bom') return new TextEncoder().encode(`\uFEFF${text}`)
  return new Uint8Array(encoding === 'latin1' ? Buffer.from(text, 'latin1') : Buffer.from(`\uFEFF${text}`, 'utf16le'))
}

/** The charset name for a content type. */
export function charsetOf(encoding: WriteEncoding): string {
  if (encoding === 'latin1') return 'iso-8859-1'
  return encoding === 'utf-8-bom' ? 'utf-8' : encoding.replace('le', '')
}
